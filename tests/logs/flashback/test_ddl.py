"""Which DDL keeps the rows before it from being undone."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import EventType
from connector.foundation.errors import UnsupportedChange
from connector.logs import undo_errors
from connector.reader import open_binlog
from tests.application import invoke
from tests.binlog.files.log_files import LogFile, image, rows_head
from tests.foundation.errors.texts import shown, text_of
from tests.logs.flashback.undone import sql_of

if TYPE_CHECKING:
    from pathlib import Path

NO_ZERO_DATE = 1 << 24
UNDONE = "DELETE FROM `db`.`t` WHERE `id` = 1"


def log_with(statement: str) -> tuple[LogFile, int]:
    """Return a log with a row of db.t and the statement after it, and where the statement is."""
    log = LogFile()
    log.transaction((1, "a"))
    log.gtid()
    return log, log.query(statement)


def undone(log: LogFile) -> str:
    with open_binlog(bytes(log.data), name="binlog.000001") as reader:
        return sql_of(reader)


@pytest.mark.parametrize(
    ("statement", "verb"),
    [
        ("TRUNCATE t", "TRUNCATE TABLE"),
        ("DROP TABLE t", "DROP TABLE"),
        ("DROP DATABASE db", "DROP DATABASE"),
        ("RENAME TABLE t TO u", "RENAME TABLE"),
        ("ALTER TABLE t ADD x INT", "ALTER TABLE"),
        ("CREATE OR REPLACE TABLE t (id INT)", "DROP TABLE"),
        # As a server with lower_case_table_names=1 logs them.
        ("TRUNCATE TABLE T", "TRUNCATE TABLE"),
        ("DROP TABLE Db.T", "DROP TABLE"),
        ("DROP DATABASE DB", "DROP DATABASE"),
        ("RENAME TABLE DB.t TO u", "RENAME TABLE"),
        ("ALTER TABLE T ADD x INT", "ALTER TABLE"),
    ],
)
def test_what_takes_rows_away_is_refused_however_the_name_is_written(
    statement: str, verb: str, tmp_path: Path
) -> None:
    log, position = log_with(statement)
    with pytest.raises(UnsupportedChange) as caught:
        undone(log)
    assert caught.value.text == text_of(
        undo_errors.DDL, file="binlog.000001", position=position, verb=verb, table="db.t"
    )
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    done = invoke(["flashback", "--table", "db.t", str(path)])
    assert (done.exit_code, done.stdout) == (3, "")
    assert f"cannot undo {verb} on db.t" in done.stderr


# A count of databases that says: too many to list them.
MANY_DATABASES = b"\x0c\xfe"


@pytest.mark.parametrize(
    ("statement", "variables"),
    [
        # MariaDB does not list the databases that a statement changed.
        ("UPDATE db.t SET a = 1 LIMIT 5", b""),
        ("INSERT INTO `db` . `t` SELECT * FROM u", b""),
        ("UPDATE t SET a = 1", MANY_DATABASES),
    ],
)
@pytest.mark.parametrize("selected", [("--table", "db.t"), ("--database", "db")])
def test_a_statement_of_another_database_is_refused_if_it_may_change_the_table(
    statement: str, variables: bytes, selected: tuple[str, str], tmp_path: Path
) -> None:
    log = LogFile()
    log.transaction((1, "a"))
    log.gtid()
    log.query("BEGIN", schema="other")
    log.query(statement, schema="other", variables=variables)
    log.query("COMMIT", schema="other")
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    done = invoke(["flashback", *selected, str(path)])
    assert (done.exit_code, done.stdout) == (3, "")
    # The default database is not the one that it changed.
    assert f"cannot undo {statement.split(maxsplit=1)[0]}, logged as a statement, " in done.stderr


def test_a_statement_that_names_no_selected_database_does_not_hinder(tmp_path: Path) -> None:
    log = LogFile()
    log.transaction((1, "a"))
    log.gtid()
    log.query("UPDATE shop.t SET note = 'db.t' WHERE db = 1", schema="other")
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    done = invoke(["flashback", "--table", "db.t", str(path)])
    assert (done.exit_code, done.stderr) == (0, "")
    assert UNDONE in done.stdout


def test_a_log_that_is_cut_and_not_the_last_one_is_refused(tmp_path: Path) -> None:
    log = LogFile()
    log.transaction((1, "a"))
    log.transaction((2, "b"))
    cut, whole = tmp_path / "binlog.000041", tmp_path / "binlog.000042"
    cut.write_bytes(log.data[:-3])
    later = LogFile()
    later.transaction((3, "c"))
    whole.write_bytes(later.data)
    done = invoke(["flashback", str(cut), str(whole)])
    assert (done.exit_code, done.stdout) == (3, "")
    position = log.positions[-1]
    assert shown(undo_errors.CUT_LOG, file=cut.name, position=position) in done.stderr
    # At the end of the last log, the transaction was rolled back.
    done = invoke(["flashback", str(whole), str(cut)])
    assert done.exit_code == 2
    assert (UNDONE in done.stdout, "`id` = 3" in done.stdout) == (True, True)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("db.t.name", 0),
        ("db.t.NAME", 0),
        ("db.t.nam", 1),
        ("db.t.na.me", 1),
        # The log may have the name of a table in lower case.
        ("DB.T.name", 1),
    ],
)
def test_a_column_to_leave_out_has_to_exist(name: str, code: int, tmp_path: Path) -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    log.table_map()
    log.add(EventType.DELETE_ROWS_EVENT, rows_head(before=b"\x03") + image(1, "a"))
    log.add(EventType.XID_EVENT, bytes(8))
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    done = invoke(["flashback", "--omit-column", name, str(path)])
    assert done.exit_code == code
    assert ("INSERT INTO `db`.`t` (`id`) VALUES (1)" in done.stdout) == (code == 0)
    if code:
        assert done.stdout == ""
        said = shown(undo_errors.NO_SUCH_COLUMN, name=name, table="db.t")
        assert said in done.stderr
    # A table without changes may lack it.
    done = invoke(["flashback", "--omit-column", "db.other.x", str(path)])
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE DATABASE IF NOT EXISTS db",
        "CREATE TABLE IF NOT EXISTS t (id INT)",
        "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 1",
        "DROP TRIGGER r",
        "CREATE INDEX i ON t (name)",
        "DROP INDEX i ON t",
        "TRUNCATE TABLE db.u",
        "DROP DATABASE other",
    ],
)
def test_what_keeps_the_rows_is_passed(statement: str, tmp_path: Path) -> None:
    log, _ = log_with(statement)
    assert undone(log).count(UNDONE) == 1
    path = tmp_path / "binlog.000001"
    path.write_bytes(log.data)
    done = invoke(["flashback", "--table", "db.t", str(path)])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count(UNDONE) == 1


def test_an_index_that_may_change_dates_is_refused() -> None:
    log = LogFile()
    log.transaction((1, "a"))
    # Outside strict mode, a rebuild of the table writes zeros for partial dates.
    mode = b"\x01" + struct.pack("<Q", NO_ZERO_DATE)
    head = bytes(8) + b"\x02\0\0" + struct.pack("<H", len(mode)) + mode
    log.add(EventType.QUERY_EVENT, head + b"db\0CREATE INDEX i ON t (name)")
    with pytest.raises(UnsupportedChange, match=r"cannot undo INDEX on db\.t"):
        undone(log)
