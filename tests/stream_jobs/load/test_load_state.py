"""How far a load has come, as the log of the mirror has it."""

from __future__ import annotations

import json
from dataclasses import replace

from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.load.table_loads import has_passed
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import LoadPart, SourceMoment, TableLoad
from stream_jobs.tables.mirror_metadata import Progress

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
MOMENT = SourceMoment("server", "mysql", f"{UUID}:1-7", "binlog.000003:400")
LOAD = TableLoad(
    "a1",
    "reading",
    PackedSequence(7, 8),
    MOMENT,
    ("id int",),
    (
        LoadPart(high=("10",), last=("37",)),
        LoadPart(("10",), ("10", "X'2000'")),
        LoadPart(low=("10", "X'2000'")),
    ),
    rows=3,
)


def test_what_the_log_has_is_read_back() -> None:
    progress = Progress("s", PackedSequence(1, 2), 3, load=LOAD)
    assert Progress.read(progress.write()) == progress
    ended = replace(progress, load=replace(LOAD, end=MOMENT).completed())
    assert Progress.read(ended.write()) == ended


def test_the_bounds_of_an_earlier_version_are_of_the_first_column() -> None:
    document = LOAD.document()
    document["parts"] = [["", "10", ["37"], False], ["10", "20", [], True], ["20", "", [], False]]
    assert TableLoad.read(json.loads(json.dumps(document))).parts == (
        LoadPart(high=("10",), last=("37",)),
        LoadPart(("10",), ("20",), done=True),
        LoadPart(low=("20",)),
    )


def test_a_mirror_of_an_earlier_version_has_no_load() -> None:
    document = json.loads(Progress("s", PackedSequence(1, 2), 3).write())
    assert "load" not in document
    assert Progress.read(json.dumps(document)).load is None


def test_all_parts_must_be_read() -> None:
    first = LOAD.after_range(0, LoadPart(high=("10",), last=("38",), done=True), 5)
    assert (first.rows, first.is_read) == (8, False)
    assert LOAD.parts[0].last_key == [b"7"]
    second = first.after_range(1, LoadPart(low=("10",), done=True), 0)
    assert not second.is_read
    assert second.after_range(2, LoadPart(low=("10", "X'2000'"), done=True), 0).is_read


def test_what_any_server_has_shown_is_kept() -> None:
    other = "4f22fb58-71ca-11e1-9e33-c80aa9429562"
    load = LOAD.after_range(0, LoadPart(high=("10",), last=("38",)), 5, f"{UUID}:1-9,{other}:1-2")
    load = load.after_range(1, LoadPart(low=("10",), done=True), 5, f"{UUID}:1-7,{other}:1-3")
    assert load.seen_moment == SourceMoment("", "mysql", f"{UUID}:1-9,{other}:1-3", "")
    progress = Progress("s", PackedSequence(1, 2), 3, load=load)
    assert Progress.read(progress.write()) == progress
    document = json.loads(progress.write())
    del document["load"]["seen"]
    earlier = Progress.read(json.dumps(document)).load
    assert earlier is not None
    assert earlier.seen_moment is None


def delivered(gtid: str | None, position: str, server: str = "server") -> DeliveredPosition:
    return DeliveredPosition("mysql", gtid, position, PackedSequence(0, 0), server_uuid=server)


def test_gtids_say_on_any_server_what_was_delivered() -> None:
    assert has_passed(delivered(f"{UUID}:1-8", "", "other"), MOMENT)
    assert not has_passed(delivered(f"{UUID}:1-6", "binlog.000009:4"), MOMENT)


def test_positions_say_it_on_the_same_server_alone() -> None:
    end = replace(MOMENT, gtid=None)
    assert has_passed(delivered(None, "binlog.000003:400"), end)
    assert has_passed(delivered(None, "binlog.000010:4"), end)
    assert not has_passed(delivered(None, "binlog.000003:399"), end)
    assert not has_passed(delivered(None, "binlog.000010:4", "other"), end)


def test_numbers_of_two_servers_of_mariadb_leave_it_to_the_position() -> None:
    end = SourceMoment("server", "mariadb", "0-2-991", "binlog.000003:400")

    def passed(gtid: str, position: str, server: str = "server") -> bool:
        moment = delivered(gtid, position, server)._replace(flavour="mariadb")
        return has_passed(moment, end)

    assert not passed("0-1-1001", "binlog.000003:300")
    assert passed("0-1-1001", "binlog.000003:400")
    assert passed("0-2-991", "binlog.000002:4")
    # After a failover there is nothing else.
    assert passed("0-1-1001", "binlog.000001:4", "other")
