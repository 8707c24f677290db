"""Progress that was read becomes a start point, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.progress import progress_errors
from connector.stream.progress.progress_record import Progress, pending_columns, start_point
from connector.stream.progress.stream_position import Instance, StreamPosition
from tests.foundation.errors.texts import text_of

GTIDS = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"


def progress(**facts: Any) -> Progress:
    values: dict[str, Any] = {
        "flavour": "mysql",
        "gtid_set": GTIDS,
        "file": "binlog.000002",
        "position": 900,
        "epoch": 1,
        "seq": "",
        "server_uuid": "first",
        "instance": "a",
        "host": "there",
        "pid": 7,
        "committed_at_ms": 1,
    }
    return Progress(**(values | facts))


def identity(**facts: Any) -> ServerIdentity:
    values: dict[str, Any] = {
        "flavour": "mysql",
        "version": "8.0.31",
        "version_number": (8, 0, 31),
        "server_uuid": "first",
        "server_id": 1,
        "gtid": True,
    }
    return ServerIdentity(**(values | facts))


def refusal(last: Progress, server: ServerIdentity) -> str:
    with pytest.raises(SourceRefused) as caught:
        start_point(last, server, "source db:3306")
    return caught.value.text


def test_a_stream_by_gtid_goes_on_by_gtid_also_on_another_server() -> None:
    point = start_point(progress(), identity(server_uuid="second"), "")
    # Files and positions are of the first server.
    assert point == StartPoint("mysql", GtidSet.parse(GTIDS), "", 4)


def test_a_stream_goes_on_in_the_file_where_it_stands() -> None:
    point = start_point(progress(file_created=1_700_000_000), identity(), "")
    assert point == StartPoint(
        "mysql", GtidSet.parse(GTIDS), "binlog.000002", 900, file_created=1_700_000_000
    )


def test_a_restart_knows_what_another_program_has_delivered_of_the_next_transaction() -> None:
    for gtid_set in (GTIDS, None):
        point = start_point(
            progress(gtid_set=gtid_set, begun_events=3, begun_rows=2), identity(gtid=True), ""
        )
        stream = StreamPosition(identity(gtid=True), point)
        assert [stream.begun_rows(number) for number in (2, 3, 4)] == [-1, 2, 0]
        claim = stream.progress(Instance("me", "host", 1), "", {}, 0)
        assert (claim.begun_events, claim.begun_rows) == (3, 2)


def test_a_transaction_that_was_begun_on_another_server_is_not_divided() -> None:
    said = refusal(progress(begun_events=1), identity(gtid=True, server_uuid="second"))
    facts = {"server": "source db:3306", "before": "first", "now": "second"}
    assert said == text_of(progress_errors.BEGUN_ELSEWHERE, **facts)


def test_a_mariadb_stream_goes_on_by_gtid() -> None:
    last = progress(flavour="mariadb", gtid_set="0-1-5")
    point = start_point(last, identity(flavour="mariadb", gtid=True), "")
    assert point.gtid_set == MariadbGtidSet.parse("0-1-5")


def test_a_stream_by_position_goes_on_by_position_also_when_gtids_were_turned_on() -> None:
    point = start_point(progress(gtid_set=None), identity(gtid=True), "")
    assert (point.gtid_set, point.file, point.position) == (None, "binlog.000002", 900)


def test_a_position_means_nothing_on_another_server() -> None:
    assert refusal(progress(gtid_set=None), identity(server_uuid="second")) == (
        "source db:3306: the stream stands at binlog.000002:900 of server first, but this is "
        "server second, and positions mean nothing on another server; go back to the first, or "
        'give the pipeline a new name and set source.start = "snapshot"; a stream can '
        "change the server only if gtid_mode was ON from its start"
    )


def test_a_stream_by_gtid_needs_gtids() -> None:
    assert refusal(progress(), identity(gtid=False)) == (
        "source db:3306: the stream has been read by GTID, but the server's gtid_mode is not ON; "
        "SET GLOBAL gtid_mode back to ON, or give the pipeline a new name and set source.start = "
        '"position:binlog.000002:900"'
    )
    assert refusal(progress(), identity(gtid=False, server_uuid="second")).endswith(
        'give the pipeline a new name and set source.start = "snapshot"'
    )


def test_another_product_is_another_stream() -> None:
    assert refusal(progress(), identity(flavour="mariadb")) == (
        "source db:3306: the stream was read from mysql, this is mariadb; give the pipeline a new "
        'name and set source.start = "snapshot"'
    )


def standing(**facts: Any) -> StreamPosition:
    """A stream that goes on in the middle of a file, on the server that committed everything."""
    server = identity(server_uuid=GTIDS.partition(":")[0])
    last = progress(server_uuid=server.server_uuid, **facts)
    return StreamPosition(server, start_point(last, server, ""), last, source="db:3306")


def test_the_file_where_a_stream_stands_holds_what_was_read() -> None:
    stream = standing()
    opened(stream, "binlog.000002", GtidSet.parse(f"{GTIDS[:-1]}3"))
    opened(stream, "binlog.000003", GtidSet.parse(GTIDS))
    with pytest.raises(SourceUnavailable) as caught:
        opened(stream, "binlog.000001", GtidSet())
    assert caught.value.text == text_of(
        progress_errors.FILE_AFTER, address="db:3306", file="binlog.000001", gtids=GTIDS
    )


def test_files_that_are_read_again_for_an_xa_transaction_hold_what_was_read() -> None:
    waiting = {
        "xid": "X'61',X'',1",
        "gtid": f"{GTIDS[:-3]}2",
        "file": "binlog.000001",
        "position": 400,
        "before": None,
        "held": True,
        "other_tables": [],
    }
    stream = standing(prepared=[waiting])
    opened(stream, "binlog.000001", GtidSet())
    opened(stream, "binlog.000002", GtidSet.parse(f"{GTIDS[:-1]}3"))
    with pytest.raises(SourceUnavailable):
        opened(stream, "binlog.000003", GtidSet.parse(f"{GTIDS[:-1]}4"))


@pytest.mark.parametrize("file", ["binlog.000002", ""], ids=["this server", "another server"])
@pytest.mark.parametrize("listed", ["0-1-3,7-1-2", "", None], ids=["list", "empty list", "index"])
def test_mariadb_may_say_what_was_before_the_first_file(file: str, listed: str | None) -> None:
    read = MariadbGtidSet.parse("0-1-5,7-1-2")
    stream = StreamPosition(identity(flavour="mariadb"), StartPoint("mariadb", read, file, 900))
    opened(stream, "binlog.000002", None if listed is None else MariadbGtidSet.parse(listed))
    opened(stream, "binlog.000003", read)
    # The logs begin anew, in a file of the same name.
    with pytest.raises(SourceUnavailable):
        opened(stream, "binlog.000003", MariadbGtidSet())


@pytest.mark.parametrize("is_named", [True, False], ids=["a file that follows", "a reset"])
def test_a_domain_ends_in_a_file_that_follows(is_named: bool) -> None:
    read = MariadbGtidSet.parse("0-1-5,7-1-2")
    server = identity(flavour="mariadb")
    stream = StreamPosition(server, StartPoint("mariadb", read, "binlog.000002", 900))
    opened(stream, "binlog.000002", None)
    if not is_named:
        with pytest.raises(SourceUnavailable):
            opened(stream, "binlog.000003", MariadbGtidSet.parse("0-1-5"))
        return
    stream.end_file("binlog.000003")
    opened(stream, "binlog.000003", MariadbGtidSet.parse("0-1-5"))
    # Another server may still have it.
    assert stream.gtid_set == read
    stream.end_file("binlog.000004")
    with pytest.raises(SourceUnavailable):
        opened(stream, "binlog.000004", MariadbGtidSet.parse("0-1-4"))


def opened(stream: StreamPosition, file: str, before: GtidSet | MariadbGtidSet | None) -> None:
    """Come to a file; `before` is what the server says was before it, None if it does not say."""
    stream.begin_file(file, 0)
    if before is not None:
        stream.check_history(file, before)


def test_added_columns_are_remembered() -> None:
    last = progress(added_columns={"shop.orders": [["x", "literal", "7"]]})
    assert pending_columns(last) == {"shop.orders": [AddedColumn("x", DefaultKind.LITERAL, "7")]}


def test_before_the_first_transaction_the_time_is_that_of_the_start_or_of_the_file() -> None:
    at_end = StartPoint("mysql", GtidSet.parse(GTIDS), "binlog.000002", 900, time_us=7_000_000)
    stream = StreamPosition(identity(), at_end)
    assert stream.time_us == 7_000_000
    instance = Instance("a", "there", 7)
    later = Progress.decode(stream.progress(instance, "", {}, 1).encode("p", "n").value or b"", "")
    point = start_point(later, identity(), "")
    assert StreamPosition(identity(), point, later).time_us == 7_000_000
    in_the_past = StreamPosition(identity(), StartPoint("mysql", None, "binlog.000002", 4))
    assert in_the_past.time_us == 0
    in_the_past.begin_file("binlog.000002", 1_700_000_000)
    assert in_the_past.time_us == 1_700_000_000_000_000
