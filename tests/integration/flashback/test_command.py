"""`binlog-connector flashback`: selection, output and exit codes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.cli import command_errors
from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.undo import SESSION, Undo
from connector.logs.output import LineOutput
from tests.application import invoke
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from tests.application import Done
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server


def flashback(*arguments: object) -> Done:
    return invoke(["flashback", *map(str, arguments)])


def two_tables(log: SourceLog) -> tuple[str, list[str]]:
    """Change two tables and return the database, and arguments that name the log and the place."""
    log.execute("CREATE TABLE a (id INT PRIMARY KEY)")
    log.execute("CREATE TABLE b (id INT PRIMARY KEY)")
    log.execute("INSERT INTO a VALUES (1)")
    log.execute("INSERT INTO b VALUES (2)")
    file = log._file
    first = log.events()[0]
    return str(log.execute("SELECT DATABASE()")[0][0]), [str(file), f"{first.position}"]


def test_selected_tables_come_back_on_the_server(source_log: SourceLog) -> None:
    database, (file, position) = two_tables(source_log)
    done = flashback(file, "--start-position", position, "--table", f"{database}.a")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == [
        "BEGIN;",
        f"DELETE FROM `{database}`.`a` WHERE `id` = 1 LIMIT 1;",
        "COMMIT;",
    ]
    for line in done.stdout.splitlines():
        if line and not line.startswith("--"):
            source_log.execute(line)
    assert source_log.execute("SELECT COUNT(*) FROM a")[0][0] == 0
    assert source_log.execute("SELECT COUNT(*) FROM b")[0][0] == 1


def test_a_stop_position_leaves_out_what_is_after_it(mysql_log: SourceLog) -> None:
    mysql_log.execute("CREATE TABLE a (id INT PRIMARY KEY)")
    mysql_log.execute("INSERT INTO a VALUES (1)")
    file = mysql_log._file
    events = mysql_log.events()
    mysql_log.execute("INSERT INTO a VALUES (2)")
    places = ["--start-position", events[0].position, "--stop-position", events[-1].next_position]
    done = flashback(file, *places)
    assert done.stdout.count("DELETE FROM") == 1
    assert "WHERE `id` = 1 LIMIT 1;" in done.stdout


def test_a_cut_file_ends_with_2_and_what_is_complete_is_undone(
    mysql_log: SourceLog, tmp_path: Path
) -> None:
    database, (file, position) = two_tables(mysql_log)
    cut = tmp_path / "cut"
    cut.write_bytes(Path(file).read_bytes()[:-3])
    done = flashback(cut, "--start-position", position, "--database", database)
    assert done.exit_code == 2
    assert done.stdout.count("DELETE FROM") == 1
    assert f"DELETE FROM `{database}`.`a`" in done.stdout
    assert "the file ends inside an event" in done.stderr


def test_nothing_is_printed_where_something_cannot_be_undone(mysql_log: SourceLog) -> None:
    database, (file, position) = two_tables(mysql_log)
    mysql_log.execute("ALTER TABLE a ADD COLUMN v INT")
    done = flashback(file, "--start-position", position, "--database", database)
    assert done.exit_code == 3
    assert done.stdout == ""
    assert f"cannot undo ALTER TABLE on {database}.a" in done.stderr


def test_nothing_selected_is_a_session_without_statements(shared_binlogs: Path) -> None:
    done = flashback(shared_binlogs / "seed/mysql-bin.000005", "--table", "other.t")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == list(SESSION)


def test_a_column_to_omit_needs_its_full_name(shared_binlogs: Path) -> None:
    done = flashback(shared_binlogs / "seed/mysql-bin.000005", "--omit-column", "t.c")
    assert done.exit_code == 1
    said = shown(command_errors.OMIT_COLUMN, name="t.c")
    assert done.stderr == f"error: {said}\n"


def test_memory_does_not_grow_with_the_transaction(mysql_log: SourceLog, tmp_path: Path) -> None:
    counted = tmp_path / "statements.sql"
    mysql_log.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100))")
    mysql_log.events()
    values = ", ".join(f"(REPEAT('{number % 10}', 90))" for number in range(80))
    mysql_log.execute(f"INSERT INTO t (v) VALUES {values}")
    mysql_log.events()
    mysql_log.execute("DELETE FROM t")
    *head, table_map, rows, xid = mysql_log.events()
    repeats = 600
    tracemalloc.start()
    try:
        with ReverseSpool() as spool, counted.open("w+b") as file:
            output = LineOutput(file)
            undo = Undo(spool)
            for event in head:
                undo.put(event, output)
            for _ in range(repeats):
                undo.put(table_map, output)
                undo.put(rows, output)
            undo.put(xid, output)
            spooled = spool.mark()
            undo.put_statements(output)
            output.flush()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counted.read_bytes().count(b"\nINSERT") >= repeats * 80
    assert spooled > 6_000_000
    assert peak < 3_000_000
