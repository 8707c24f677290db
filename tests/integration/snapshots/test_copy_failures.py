"""What stops a copy, or the columns of a table that the log does not name, on real servers."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import pytest

from connector.foundation.errors import (
    ConfigError,
    SourceRefused,
    SourceUnavailable,
    UnsupportedChange,
)
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication import dump_errors, log_search
from connector.replication.read_pace import PaceState
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.metrics.control import Control
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.copy_requests import _require_readable
from connector.stream.snapshot.copy_scheduler import CopyScheduler
from connector.stream.snapshot.jobs import (
    JobFailure,
    PassJob,
    PassPart,
    PassReady,
    PlanJob,
    TableBusy,
    TableChange,
)
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.table_state import TableState
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source import table_errors
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from connector.stream.source.table_definitions import ServerTableDefinitions
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


@pytest.fixture
def table(source: Source, schema: str) -> str:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, e ENUM('😀') CHARACTER SET utf8mb4)"
    )
    return f"{schema}.t"


def failed_plan(source: Source, table: str, **settings: object) -> Exception:
    """Return what comes of a reader that is to plan a copy."""
    database, _, name = table.partition(".")
    with SelectSession(source.settings()) as session:
        identity = session.identity
    readers = ReaderPool(source.settings(), SnapshotSettings.model_validate(settings), identity)
    try:
        readers.submit(PlanJob(1, database, name))
        result = readers.results.get(timeout=20)
    finally:
        readers.close()
    assert isinstance(result, JobFailure)
    return result.error


def result_of_pass(readers: ReaderPool, *described: SelectedTable) -> object:
    """Return what a reader says after it was allowed to read whole tables; closes `readers`."""
    parts = [
        PassPart(number, table, transactional=False, where="")
        for number, table in enumerate(described)
    ]
    try:
        readers.submit(PassJob(tuple(parts), 1 << 20))
        assert isinstance(readers.results.get(timeout=20), PassReady)
        readers.go_on()
        return readers.results.get(timeout=20)
    finally:
        readers.close()


def test_a_pause_query_that_returns_no_number(source: Source, table: str) -> None:
    error = failed_plan(source, table, pause_query="SELECT 'busy'")
    assert isinstance(error, ConfigError)
    assert error.text == text_of(copy_errors.PAUSE_QUERY, server=source.name)


def test_a_request_for_a_table_that_may_not_be_read(source: Source, table: str) -> None:
    database, _, name = table.partition(".")
    with SelectSession(source.settings()) as session, pytest.raises(SourceRefused) as caught:
        _require_readable(session, database, name, "")
    assert caught.value.text == text_of(
        copy_errors.MAY_NOT_READ, server=source.name, table=table, grant=f"`{database}`.`{name}`"
    )


def test_a_table_that_may_be_read_but_not_locked(source: Source, table: str) -> None:
    database, _, name = table.partition(".")
    source.execute(
        f"ALTER TABLE {table} ENGINE=MyISAM, DROP PRIMARY KEY, DROP COLUMN e",
        f"GRANT SELECT, LOCK TABLES ON {database}.* TO {source.user}@'%'",
    )
    settings = source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))
    with SelectSession(settings) as session:
        described = SelectedTable.describe(session, database, name)
        readers = ReaderPool(settings, SnapshotSettings(), session.identity)
    result = result_of_pass(readers, described)
    assert isinstance(result, JobFailure)
    assert isinstance(result.error, SourceRefused)
    assert result.error.text == text_of(
        copy_errors.COPY_DENIED,
        server=source.name,
        table=table,
        rights="SELECT, LOCK TABLES",
        database=database,
    )


def test_of_several_tables_the_one_that_may_not_be_locked_is_named(
    source: Source, table: str
) -> None:
    database, _, name = table.partition(".")
    other = f"{database}_other"
    user = source.create_account("SELECT, REPLICATION CLIENT")
    source.execute(
        f"ALTER TABLE {table} ENGINE=MyISAM",
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.{name} LIKE {table}",
        f"GRANT LOCK TABLES ON {database}.* TO {user}",
    )
    try:
        settings = source.settings(user=user)
        with SelectSession(settings) as session:
            described = [SelectedTable.describe(session, of, name) for of in (database, other)]
            readers = ReaderPool(settings, SnapshotSettings(), session.identity)
        result = result_of_pass(readers, *described)
    finally:
        source.execute(f"DROP DATABASE {other}")
    assert isinstance(result, JobFailure)
    assert isinstance(result.error, SourceRefused)
    assert result.error.text == text_of(
        copy_errors.COPY_DENIED,
        server=source.name,
        table=f"{other}.{name}",
        rights="SELECT, LOCK TABLES",
        database=other,
    )


def test_a_table_that_changes_again_and_again() -> None:
    failed: list[str] = []
    making: Any = CopyScheduler
    copying = making(None, None, SnapshotSettings(), Control())
    state = TableState("shop", "t")
    copy = TableCopy(state, TableWindows(), SnapshotSettings())
    changed = TableChange(
        PlanJob(copy.number, "shop", "t"),
        LogPosition(1, 4),
        is_gone=False,
        error=SourceRefused(copy_errors.OTHER_TABLE_NOW),
    )
    for _ in range(6):
        assert failed == []
        failed += [event.error.text for event in copying._take_change(copy, changed)]
    assert failed == [
        text_of(copy_errors.CHANGES, table="shop.t", why="it has other columns, or another key")
    ]


def test_a_table_that_is_locked_for_too_long_is_tried_again(source: Source, table: str) -> None:
    database, _, name = table.partition(".")
    source.execute(
        f"ALTER TABLE {table} ENGINE=MyISAM, DROP PRIMARY KEY, DROP COLUMN e",
        f"GRANT SELECT, LOCK TABLES ON {database}.* TO {source.user}@'%'",
    )
    with (
        SelectSession(source.settings()) as session,
        SelectSession(source.settings()) as writer,
    ):
        described = SelectedTable.describe(session, database, name)
        writer.query(f"LOCK TABLES {described.quoted_name} WRITE")
        readers = ReaderPool(source.settings(), SnapshotSettings(), session.identity)
        result = result_of_pass(readers, described)
    assert isinstance(result, TableBusy)
    assert result.error.text == text_of(copy_errors.NOT_LOCKED, table=table)


def first_look(session: SelectSession, settings: SnapshotSettings) -> PaceState:
    """Return the pace of reading after the server was asked once."""
    closing = Event()
    closing.set()
    pace = SourcePace(settings)
    pace.wait(session, closing)
    return pace.state


def test_a_source_that_is_busy_is_told(source: Source) -> None:
    with SelectSession(source.settings()) as session:
        paused = first_look(session, SnapshotSettings(pause_query="SELECT 7")).why
        assert paused is not None
        assert paused.text == text_of(copy_errors.PAUSE_WANTED, value=7.0)
        at_rest = SnapshotSettings.model_construct(threads_running_max=-1)
        running, reads = first_look(session, at_rest).why, first_look(session, at_rest).reads
        at_full = SnapshotSettings(pace="full")
        assert first_look(session, at_full) == PaceState(2.0)
    assert running is not None
    assert running.code is copy_errors.THREADS_RUNNING
    assert running.text == text_of(
        copy_errors.THREADS_RUNNING, found=running.facts["found"], limit=-1.0
    )
    assert reads == 0.5


def test_a_source_where_others_work_is_told(source: Source) -> None:
    """Others sleep in statements, which run all the same, so that the pace is held beside them."""
    pace = SourcePace(SnapshotSettings())
    with SelectSession(source.settings()) as session:
        pace.wait(session, Event())
        with ExitStack() as stack:
            for _ in range(8):
                other = stack.enter_context(SelectSession(source.settings()))
                sleeper = Thread(target=other.query, args=("SELECT SLEEP(2.5)",))
                sleeper.start()
                stack.callback(sleeper.join)
            for _ in range(3):
                time.sleep(0.55)
                pace.wait(session, Event())
            why, reads = pace.state.why, pace.state.reads
    assert why is not None
    assert why.code is copy_errors.BESIDE_OTHERS
    assert why.text == text_of(copy_errors.BESIDE_OTHERS, **why.facts)
    assert reads == 0.5


def test_a_source_whose_rows_take_longer_is_told(source: Source) -> None:
    """Reads of many rows wait for a lock that they did not have to wait for before."""
    pace = SourcePace(SnapshotSettings())
    paces = []
    with SelectSession(source.settings()) as session:
        for seconds in (0.01, 0.2, 0.2, 0.2):
            time.sleep(0.6)
            with pace.read(session, Event(), "t") as turn:
                paces.append(pace.state.reads)
                session.query(f"SELECT SLEEP({seconds})")
                turn.rows = 1000
        before = pace.state.reads
        time.sleep(0.6)
        pace.wait(session, Event())
    hold = pace.state.why
    assert hold is not None
    assert hold.code is copy_errors.SLOW_ROWS
    assert float(str(hold.facts["found"])) > 4
    assert hold.text == text_of(copy_errors.SLOW_ROWS, **hold.facts)
    # Until the third read was slow, too, the pace was held.
    assert paces[1:] == [before] * 3
    assert pace.state.reads == before / 2


def test_labels_that_a_server_cannot_show(mysql: Source) -> None:
    mysql.execute(
        "CREATE DATABASE IF NOT EXISTS odd",
        "DROP TABLE IF EXISTS odd.t",
        "CREATE TABLE odd.t (id INT PRIMARY KEY, e ENUM('😀') CHARACTER SET utf8mb4)",
    )
    account = mysql.create_account("SELECT")
    settings = mysql.settings(user=account)
    with MysqlServer.connect(settings) as server:
        identity = server.identity
    definitions = ServerTableDefinitions(settings, identity, lower_case_names=False)
    with pytest.raises(UnsupportedChange) as caught:
        definitions._columns("odd", "t")
    assert caught.value.text == text_of(
        table_errors.LABELS_UNCERTAIN, server=mysql.name, name="odd.t", column="e"
    )


@dataclass
class Hanging:
    """The stream of a server that keeps the connection, and says nothing."""

    ended: bool = False

    def receive(self, timeout_seconds: float) -> None:
        del timeout_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_a_server_that_does_not_answer_a_dump(
    mysql: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "open_stream", lambda *_, **__: Hanging())
    with (
        MysqlServer.connect(mysql.settings()) as server,
        pytest.raises(SourceUnavailable) as caught,
    ):
        log_search.log_head(server, "binlog.000001")
    assert caught.value.text == text_of(
        dump_errors.DUMP_HANGS, server=mysql.name, file="binlog.000001", seconds=10
    )
