"""What stays with a selected change, where the logs of the shop do not show it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from connector.binlog.gtid import GtidSet
from connector.binlog.header import EventType
from connector.binlog.table_filter import TableFilter
from connector.cli import command_errors
from connector.logs import progress_bar
from connector.logs.progress_bar import ReadingProgress
from connector.logs.selection import Selection, SelectionOptions
from connector.reader import open_binlog
from tests.application import invoke
from tests.binlog.files.log_files import COLUMNS, NAMED, SERVER, LogFile
from tests.binlog.log_bytes import table_map
from tests.foundation.errors.texts import shown
from tests.golden.golden import logs
from tests.logs.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_statement_of_an_xa_transaction_is_known_by_the_word_after_comments(
    tmp_path: Path,
) -> None:
    log = LogFile()
    log.gtid()
    log.query("/* app */ XA START 'x'")
    log.table_map()
    log.insert((1, "a"))
    log.query("XA END 'x'")
    log.query("XA")
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    assert dumped_json("--table", "db.t", path).types == dumped_json(path).types


def named_log(folder: Path, database: str, table: str) -> Path:
    """Return a log with a row of a table; the names have two letters and one, or more."""
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    body = table_map(COLUMNS, NAMED)
    old = b"\x02db\x00\x01t\x00"
    assert old in body
    new = b"".join(bytes([len(name)]) + name.encode() + b"\0" for name in (database, table))
    log.add(EventType.TABLE_MAP_EVENT, body.replace(old, new))
    log.insert((1, "a"))
    log.add(EventType.XID_EVENT, bytes(8))
    path = folder / "binlog.000001"
    path.write_bytes(log.data)
    return path


@pytest.mark.parametrize("table", ["_prices_new", "_users_old", "_orders_gho"])
@pytest.mark.parametrize("wish", [("--database", "db"), ("--table", "db.*")])
def test_tables_named_like_those_of_schema_changes_are_selected(
    tmp_path: Path, table: str, wish: tuple[str, str]
) -> None:
    path = named_log(tmp_path, "db", table)
    assert "WRITE_ROWS_EVENT" in dumped_json(*wish, path).types
    undone = invoke(["flashback", *wish, str(path)])
    assert (undone.exit_code, undone.stderr) == (0, "")
    assert f"DELETE FROM `db`.`{table}`" in undone.stdout
    # `run` publishes no records of them.
    published = dump("--format", "envelope", *wish, path)
    assert (published.code, table in published.output) == (0, False)
    with open_binlog(path) as log:
        assert [batch.table for batch in log.to_arrow(["db.*"])] == [table]


def test_a_database_may_have_a_dot_in_its_name(tmp_path: Path) -> None:
    path = named_log(tmp_path, "my.db", "t")
    assert "WRITE_ROWS_EVENT" in dumped_json("--database", "my.db", path).types
    assert "WRITE_ROWS_EVENT" in dumped_json("--database", "m?.d*", path).types
    assert "WRITE_ROWS_EVENT" not in dumped_json("--database", "my", path).types


@pytest.mark.parametrize("option", ["--include-gtids", "--exclude-gtids"])
@pytest.mark.parametrize("command", ["dump", "flashback"])
def test_gtids_of_the_other_flavour_are_refused(tmp_path: Path, option: str, command: str) -> None:
    mysql = tmp_path / "binlog.000001"
    log = LogFile()
    log.transaction((1, "a"))
    mysql.write_bytes(log.data)
    (mariadb,) = (log.path for log in logs() if log.name == "mariadb-11.8.6/checksums.000001")
    of_mysql, of_mariadb = f"{SERVER}:1-9", "0-1-500"
    for path, gtids in ((mysql, of_mariadb), (mariadb, of_mysql)):
        done = invoke([command, option, gtids, str(path)])
        assert done.exit_code == 1, done.stderr
        assert f"{option} {gtids} cannot be compared with" in done.stderr


@pytest.mark.parametrize("command", ["dump", "flashback"])
@pytest.mark.parametrize("logs", [[], ["binlog.000001", "--to-last-log"]])
def test_a_position_in_a_last_log_that_is_not_named_is_refused(
    command: str, logs: list[str]
) -> None:
    done = invoke([command, "--source", "mysql://h", "--stop-position", "5000", *logs])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"error: {shown(command_errors.STOP_NEEDS_A_LOG)}\n"


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
