"""Which server may be read, by what it can tell of the watermark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from connector.foundation.errors import DecodeError
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.server_state import delivered_position, own_gtids, refuse_filters
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import SourceMoment


def session_on(server: str, flavour: str = "mysql") -> Any:
    identity = SimpleNamespace(server_uuid=server, flavour=flavour)
    return SimpleNamespace(identity=identity, name=f"source {server}")


def test_a_replica_of_mysql_is_asked_for_gtids() -> None:
    moment = SourceMoment("a", "mysql", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7", "log.000002:9")
    delivered = delivered_position(session_on("b"), moment)
    assert (delivered.gtid_set, delivered.position) == (moment.gtid, LogPosition(2, 9))
    with pytest.raises(MirrorError) as caught:
        delivered_position(session_on("b", "mariadb"), moment)
    assert caught.value.code is load_errors.OTHER_SERVER


def test_only_gtids_come_from_a_topic_into_sql() -> None:
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7"
    for wrong in (f"{gtid}') OR SLEEP(9", f"{gtid}'"):
        with pytest.raises(DecodeError):
            delivered_position(session_on("b"), SourceMoment("a", "mysql", wrong, "log.000002:9"))


@pytest.mark.parametrize(("flavour", "gtid"), [("mysql", None), ("mariadb", "0-1-7")])
def test_elsewhere_the_server_of_the_position_is_read(flavour: str, gtid: str | None) -> None:
    moment = SourceMoment("a", flavour, gtid, "log.000002:9")
    delivered = delivered_position(session_on("a"), moment)
    assert (delivered.gtid_set, delivered.position) == (None, LogPosition(2, 9))
    with pytest.raises(MirrorError) as caught:
        delivered_position(session_on("b"), moment)
    assert caught.value.code is load_errors.OTHER_SERVER


def test_transactions_that_the_topics_never_get_are_named() -> None:
    source, replica, foreign = (f"{digit * 8}-71ca-11e1-9e33-c80aa9429562" for digit in "abc")
    bound = PackedSequence(0, 0)
    moment = DeliveredPosition("mysql", f"{source}:1-7", "", bound, server_uuid=source)
    # What the source has is coming.
    assert own_gtids(f"{source}:1-9", replica, moment) == ""
    assert own_gtids(f"{source}:1-9,{replica}:1-2", replica, moment) == f"{replica}:1-2"
    assert own_gtids(f"{source}:1-9,{foreign}:4", replica, moment) == f"{foreign}:4"
    known = moment._replace(gtid=f"{source}:1-7,{foreign}:1-3")
    assert own_gtids(f"{source}:1-9,{foreign}:1-4", replica, known) == ""
    # A server that has been the source before: of its own, only what the topics have.
    known = moment._replace(gtid=f"{source}:1-7,{replica}:1-3")
    assert own_gtids(f"{source}:1-7,{replica}:1-4", replica, known) == f"{replica}:4"
    # The source has no transactions of its own.
    assert own_gtids(f"{source}:1-9,{foreign}:4", source, moment) == ""


def test_a_replica_with_filters_is_refused_in_spite_of_its_gtids() -> None:
    source, replica = (f"{digit * 8}-71ca-11e1-9e33-c80aa9429562" for digit in "ab")
    bound = PackedSequence(0, 0)
    moment = DeliveredPosition("mysql", f"{source}:1-7", "", bound, server_uuid=source)
    channels = [
        {"Source_Host": "a", "Replicate_Do_DB": "", "Replicate_Ignore_Table": "shop.t"},
        {"Source_Host": "b", "Replicate_Do_DB": "", "Replicate_Ignore_Table": ""},
    ]
    session = session_on(replica)
    session.identity.version_number = (8, 4, 0)
    session.query = lambda _: channels
    with pytest.raises(MirrorError) as caught:
        refuse_filters(session, moment)
    assert caught.value.code is load_errors.FILTERS
    assert caught.value.message.facts["filters"] == "Replicate_Ignore_Table=shop.t"
    channels[0]["Replicate_Ignore_Table"] = ""
    refuse_filters(session, moment)
    # The log of the connector's own server has what its tables have.
    channels[0]["Replicate_Do_DB"] = "shop"
    session.identity.server_uuid = source
    refuse_filters(session, moment)
