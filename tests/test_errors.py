from __future__ import annotations

import pickle

import pytest

from connector.errors import (
    ConfigError,
    ConnectorError,
    EventError,
    LogRefused,
    LogTruncated,
    TruncatedPayload,
    log,
)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("no log is given"),
        EventError("binlog.000001", 4, "XID_EVENT", "its checksum is wrong"),
        LogTruncated("binlog.000001", 120, 19, 7),
        LogRefused(log.FILE_REFUSED, "binlog.000001", why="encrypted"),
        TruncatedPayload(8, 3, 5),
    ],
)
def test_an_error_of_another_process_has_its_text_and_its_facts(error: ConnectorError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # our own
    assert (type(copy), str(copy), copy.code) == (type(error), str(error), error.code)
    assert vars(copy).keys() == vars(error).keys()
