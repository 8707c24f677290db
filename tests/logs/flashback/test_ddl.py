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
from tests.binlog.files.log_files import LogFile
from tests.foundation.errors.texts import text_of
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
