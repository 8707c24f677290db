"""Which server may be read, by what it can tell of the watermark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.range_task import delivered_position
from stream_jobs.tables.load_state import SourceMoment


def session_on(server: str) -> Any:
    return SimpleNamespace(identity=SimpleNamespace(server_uuid=server), name=f"source {server}")


def test_a_replica_of_mysql_is_asked_for_gtids() -> None:
    moment = SourceMoment("a", "mysql", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7", "log.000002:9")
    delivered = delivered_position(session_on("b"), moment)
    assert (delivered.gtid_set, delivered.position) == (moment.gtid, LogPosition(2, 9))


@pytest.mark.parametrize(("flavour", "gtid"), [("mysql", None), ("mariadb", "0-1-7")])
def test_elsewhere_the_server_of_the_position_is_read(flavour: str, gtid: str | None) -> None:
    moment = SourceMoment("a", flavour, gtid, "log.000002:9")
    delivered = delivered_position(session_on("a"), moment)
    assert (delivered.gtid_set, delivered.position) == (None, LogPosition(2, 9))
    with pytest.raises(MirrorError) as caught:
        delivered_position(session_on("b"), moment)
    assert caught.value.code is load_errors.OTHER_SERVER
