from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from connector.binlog import argument_errors, log_errors
from connector.binlog.log_errors import EventError, LogRefused, LogTruncated, TruncatedPayload
from connector.foundation.errors import ConfigError, ConnectorError, DecodeError, fields


@pytest.mark.parametrize(
    "error",
    [
        ConfigError(argument_errors.NO_LOG),
        EventError("binlog.000001", 4, "XID_EVENT", DecodeError(log_errors.NO_FORMAT)),
        LogTruncated("binlog.000001", 120, 19, 7),
        LogRefused(log_errors.ENCRYPTED, "binlog.000001"),
        TruncatedPayload(8, 3, 5),
    ],
)
def test_an_error_of_another_process_has_its_text_and_its_facts(error: ConnectorError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # our own
    assert (type(copy), str(copy), copy.code) == (type(error), str(error), error.code)
    assert vars(copy).keys() == vars(error).keys()


def test_a_frame_has_the_code_of_the_error_inside_of_it() -> None:
    inside = DecodeError(log_errors.NO_FORMAT)
    within = DecodeError(log_errors.AFTER_INSIDE, number=3, why=inside)
    error = EventError("binlog.000001", 4, "XID_EVENT", within)
    assert error.code is log_errors.NO_FORMAT
    assert str(error.message) == (
        "[L206] binlog.000001:4: cannot decode XID_EVENT: after event 3 inside: no "
        "FORMAT_DESCRIPTION_EVENT came before it; read the log from its start, where that event "
        "is; compare with `mysqlbinlog --start-position=4 binlog.000001`"
    )


def test_the_catalogue_needs_nothing_but_the_standard_library() -> None:
    program = (
        "import sys, connector\n"
        "before = set(sys.modules)\n"
        "from connector.foundation.errors import catalogue\n"
        "catalogue.codes()\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(loaded - sys.stdlib_module_names - {'connector'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_fields_of_a_log_line_have_the_text_and_the_code_of_the_error_inside_of_a_frame() -> None:
    inside = DecodeError(log_errors.NO_FORMAT)
    error = EventError("binlog.000001", 4, "XID_EVENT", inside)
    assert fields(error) == fields(error.message) == {"error": error.text, "code": "L206"}
