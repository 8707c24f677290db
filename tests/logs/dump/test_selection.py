"""What stays with a selected change, where the logs of the shop do not show it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from connector.binlog.gtid import GtidSet
from connector.binlog.table_filter import TableFilter
from connector.logs import progress_bar
from connector.logs.progress_bar import ReadingProgress
from connector.logs.selection import Selection, SelectionOptions
from connector.reader import open_binlog
from tests.logs.dump.command import dumped_json

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_log_without_gtids_is_in_no_set(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "ver_5_1_23.001"
    some = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9"
    assert dumped_json("--include-gtids", some, log).types == [
        "FORMAT_DESCRIPTION_EVENT", "STOP_EVENT"
    ]  # fmt: skip
    assert dumped_json("--exclude-gtids", some, log).objects == dumped_json(log).objects


def test_loads_of_old_logs_are_selected_by_their_table(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "binlog_old_version_4_1.000001"
    everything = dumped_json(log)
    loads = {"CREATE_FILE_EVENT", "NEW_LOAD_EVENT", "LOAD_EVENT"} & set(everything.types)
    assert loads
    assert loads <= set(dumped_json("--database", "test", log).types)
    assert not loads & set(dumped_json("--table", "test.other", log).types)


def test_a_tagged_transaction_is_in_a_tagged_set(shared_binlogs: Path) -> None:
    log = shared_binlogs / "recorded" / "binlog_transaction_with_GTID_TAG.000001"
    with open_binlog(log) as reader:
        (gtid,) = (str(t.gtid) for t in reader.transactions() if str(t.gtid).count(":") == 2)
    chosen = dumped_json("--include-gtids", gtid, log).objects
    (found,) = (e for e in chosen if e["type"] == "GTID_TAGGED_LOG_EVENT")
    assert found["body"]["gtid"] == gtid
    assert chosen[-2]["type"] == "XID_EVENT"
    untagged = gtid.split(":")[0] + ":1-99"
    assert found not in dumped_json("--include-gtids", untagged, log).objects


def test_a_selection_ends_at_its_stop_time(shared_binlogs: Path) -> None:
    log = shared_binlogs / "seed" / "mysql-bin.000005"
    done = dumped_json("--stop-datetime", "2019-01-03T10:58:14", log)
    assert done.types == ["FORMAT_DESCRIPTION_EVENT", "PREVIOUS_GTIDS_LOG_EVENT"]
    zoned = dumped_json("--stop-datetime", "2019-01-03T11:58:14+01:00", log)
    assert zoned.objects == done.objects


def test_an_unasked_selection_is_the_log(shared_binlogs: Path) -> None:
    for path in sorted((shared_binlogs / "recorded").iterdir()):
        if "truncated" in path.name:
            continue
        with open_binlog(path) as log:
            events = list(log)
        everything = Selection(SelectionOptions())
        chosen = [each for event in events for each in everything.select(event)]
        assert chosen == events, path.name
        tables = Selection(SelectionOptions(tables=TableFilter(["*.*", "mysql.*"])))
        by_table = [each for event in events for each in tables.select(event)]
        assert by_table == events, path.name
        none = Selection(SelectionOptions(exclude_gtids=GtidSet()))
        assert [each for event in events for each in none.select(event)] == events, path.name


def test_a_long_dump_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with ReadingProgress(console) as shown:
        shown.show("binlog.000001", 100, 1000)
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress_bar, "_PATIENCE_SECONDS", 0.0)
    with ReadingProgress(console) as shown:
        shown.show("binlog.000001", 100, 1000)
        shown.show("binlog.000001", 500, 1000)
    assert "binlog.000001" in screen.getvalue()
