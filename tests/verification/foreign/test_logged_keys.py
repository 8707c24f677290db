"""What a round wants of the log: keys that have changed, and where the next round begins."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from connector.binlog.gtid import MariadbGtid
from connector.reader import open_binlog
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from tests.binlog.files.log_files import SERVER, LogFile
from tests.stream_jobs.topics import column
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.forms import forms_of
from verification.foreign.logged_keys import LoggedKeys, SettledEnd
from verification.foreign.shared_log import LogTaker, TableReading, read_log
from verification.source_moment import SourceMoment

NAME = "binlog.000001"


def logged_keys() -> LoggedKeys:
    """What collects the keys of db.t."""
    columns = (column("id", "int", key=1), column("name", "varchar", charset="utf8mb4"))
    compared = mirrored.TableSchema("db", "t", "", PackedSequence(0, 0), columns)
    kinds = (pa.int32(), pa.string())
    pairs = [
        ColumnPair(own, own["name"], forms_of(own, kind)[0])
        for own, kind in zip(columns, kinds, strict=True)
    ]
    source: Any = SimpleNamespace(
        schema=compared,
        selected=SimpleNamespace(schema=TableSchema("db", "t", "", columns, (0, 1))),
        server=SimpleNamespace(ignores_case=False),
    )
    return LoggedKeys(source, ColumnMapping(compared, pairs, ColumnNames()))


def read(log: LogFile, taker: LogTaker, position: int = 4) -> None:
    """Let a taker have a log from a position on."""
    reading = TableReading(taker, f"{NAME}:{position}")
    with TemporaryDirectory() as folder:
        (path := Path(folder, NAME)).write_bytes(log.data)
        with open_binlog(path) as reader:
            read_log(iter(reader), 9_000_000, [reading], ignores_case=False)
    assert reading.failure is None


def ids(own: LoggedKeys) -> set[object]:
    return {key[0] for key in own.keys.values()}


def test_the_keys_of_all_rows_are_collected_over_readings() -> None:
    log, own = LogFile(), logged_keys()
    log.transaction((1, "a"), (2, "b"))
    read(log, own)
    assert ids(own) == {1, 2}
    own.keys.clear()
    position = log.transaction((3, "c"))
    read(log, own, position)
    assert ids(own) == {3}
    assert not own.needs_all_rows


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("TRUNCATE t", True),
        ("ALTER TABLE t ADD x INT", True),
        ("DROP DATABASE db", True),
        ("TRUNCATE other", False),
        ("ROLLBACK", False),
        # A session that logs statements: any table may have changed.
        ("UPDATE t SET name = 'b'", True),
        ("CREATE TABLE other SELECT 1", False),
        # What it has changed is not known.
        ("XA COMMIT X'61',X'',1", True),
        ("XA ROLLBACK X'61',X'',1", True),
    ],
)
def test_what_the_log_does_not_name_demands_all_rows(statement: str, *, expected: bool) -> None:
    log, own = LogFile(), logged_keys()
    log.gtid()
    log.query(statement)
    read(log, own)
    assert own.needs_all_rows is expected


@pytest.mark.parametrize("has_rows", [False, True])
def test_a_commit_of_xa_demands_all_rows_if_it_has_rows_of_the_table(*, has_rows: bool) -> None:
    log, own = LogFile(), logged_keys()
    log.gtid()
    log.query("XA START X'61',X'',1")
    if has_rows:
        log.table_map()
        log.insert((1, "a"))
    log.query("XA END X'61',X'',1")
    log.query("XA PREPARE X'61',X'',1")
    read(log, own)
    assert not own.needs_all_rows
    position = log.gtid()
    log.query("XA COMMIT X'61',X'',1")
    read(log, own, position)
    assert own.needs_all_rows is has_rows


def test_too_many_keys_demand_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verification.foreign.logged_keys.KEYS_MAX", 2)
    log, own = LogFile(), logged_keys()
    log.transaction((1, "a"), (2, "b"), (3, "c"))
    log.transaction((4, "a"))
    read(log, own)
    assert (own.needs_all_rows, ids(own)) == (True, set())


def settled(log: LogFile, gtids: str, flavour: str = "mysql", begin: str = f"{NAME}:4") -> str:
    end = SettledEnd(SourceMoment(0, gtids), flavour)
    read(log, end)
    return end.end_of(begin, "the end")


def test_the_next_round_begins_before_the_first_transaction_that_the_moment_lacks() -> None:
    log = LogFile()
    places = [log.transaction((number, "a")) for number in range(4)]
    assert settled(log, f"{SERVER}:1-2") == f"{NAME}:{places[2]}"
    # The third one was committed later than the fourth.
    assert settled(log, f"{SERVER}:1-2:4") == f"{NAME}:{places[2]}"
    assert settled(log, f"{SERVER}:1-4") == "the end"
    assert settled(log, f"{SERVER}:1-9") == "the end"


def of_mariadb(moment: str, *gtids: str) -> str:
    end = SettledEnd(SourceMoment(0, moment), "mariadb")
    for place, gtid in enumerate(gtids, 1):
        transaction: Any = SimpleNamespace(
            file=NAME, position=100 * place, gtid=MariadbGtid.parse(gtid)
        )
        end.begin(transaction)
    return end.end_of("begin", "the end")


def test_on_mariadb_it_begins_after_the_last_transaction_of_the_moment() -> None:
    assert of_mariadb("0-1-5", "0-1-5", "0-1-6") == f"{NAME}:200"
    assert of_mariadb("0-1-6", "0-1-5", "0-1-6") == "the end"
    # Nothing was committed between the two moments.
    assert of_mariadb("0-1-4", "0-1-5", "0-1-6") == "begin"
    # Another server has numbers of its own.
    assert of_mariadb("0-2-3", "0-1-5", "0-2-3", "0-1-6") == f"{NAME}:300"
    # Domains are written independently; the log has the order in which they were committed.
    assert of_mariadb("0-1-5,7-1-2", "7-1-2", "0-1-5", "7-1-3") == f"{NAME}:300"
