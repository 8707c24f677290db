"""Reads of many short statements beside others: their rows are those of one long statement."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot import jobs
from connector.stream.snapshot.keyset import select_chunk
from connector.stream.snapshot.source_pace import Read, SourcePace
from connector.stream.snapshot.table_reader import TableReader, read_rows
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from local_stack import connect
from tests.integration.snapshots.chunks import BYTES_MAX, chunk_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from connector.foundation.settings.sections import SourceSettings
    from connector.stream.envelope.copied_chunk import Chunk
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

ROWS = 24
ALL = 1 << 62


@pytest.fixture
def settings(source: Source, schema: str) -> SourceSettings:
    """Return the settings of an account that reads a table whose key has two columns."""
    rows = [f"({n % 3}, 'key {n // 3}', {n or 'NULL'})" for n in range(ROWS)]
    source.execute(
        f"CREATE TABLE {schema}.t (a INT, b VARCHAR(20), v INT, PRIMARY KEY (a, b))",
        f"INSERT INTO {schema}.t VALUES {', '.join(rows)}",
    )
    return source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))


@pytest.fixture
def session(settings: SourceSettings) -> Iterator[SelectSession]:
    with SelectSession(settings) as opened:
        yield opened


@pytest.fixture
def read(
    session: SelectSession, schema: str
) -> Callable[[Read, tuple[int, int], Sequence[bytes]], tuple[Chunk, bool]]:
    """Return what reads the table in a turn: at most so many rows and bytes, after a key."""
    table = SelectedTable.describe(session, schema, "t")

    def read(turn: Read, most: tuple[int, int], after: Sequence[bytes] = ()) -> tuple[Chunk, bool]:
        def sql(after: Sequence[bytes], limit: int) -> str:
            return select_chunk(table, KeyBounds(), after, "", limit)

        return read_rows(session, turn, table.writer(), sql, after, most)

    return read


def always() -> bool:
    """Let a read go on."""
    return True


@pytest.mark.parametrize("statement_rows", [1, 5, 8, 24, 25])
@pytest.mark.parametrize("limit", [7, 24, 25])
def test_the_rows_are_those_of_one_statement(
    read: Callable[..., tuple[Chunk, bool]], session: SelectSession, statement_rows: int, limit: int
) -> None:
    whole, is_last = read(Read(ALL, always), (limit, BYTES_MAX))
    before = session.statements_sent
    divided, is_divided_last = read(Read(statement_rows, always), (limit, BYTES_MAX))
    assert divided.rows() == whole.rows()
    assert (divided.count, divided.size) == (whole.count, whole.size)
    assert divided.last_key == whole.last_key
    assert is_divided_last == is_last == (limit > ROWS)
    # The last statement finds fewer rows than it asks for, or all that are wanted are read.
    statements = ROWS // statement_rows + 1 if limit > ROWS else -(-limit // statement_rows)
    assert session.statements_sent - before == statements


def test_a_turn_that_ends_leaves_the_rest_of_the_rows_for_the_next_one(
    read: Callable[..., tuple[Chunk, bool]],
) -> None:
    whole, _ = read(Read(ALL, always), (ROWS, BYTES_MAX))
    rests = iter([True, False])
    first, is_last = read(Read(5, lambda: next(rests)), (ROWS + 1, BYTES_MAX))
    assert (first.count, is_last) == (10, False)
    rest, is_last = read(Read(5, always), (ROWS + 1, BYTES_MAX), first.last_key)
    assert is_last
    assert first.rows() + rest.rows() == whole.rows()


def test_bytes_end_a_divided_read_as_one_of_one_statement(
    read: Callable[..., tuple[Chunk, bool]],
) -> None:
    whole, _ = read(Read(ALL, always), (ROWS, BYTES_MAX))
    some, is_last = read(Read(2, always), (ROWS + 1, whole.size // 2))
    assert ROWS // 2 <= some.count <= ROWS // 2 + 2
    assert not is_last
    # A row is larger than what is left.
    one, is_last = read(Read(2, always), (ROWS + 1, 1))
    assert (one.count, is_last) == (2, False)


def test_beside_an_application_a_chunk_is_read_by_short_statements(
    source: Source, schema: str
) -> None:
    """Nothing lets the account read performance_schema: the server's own counter tells it."""
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)",
        f"INSERT INTO {schema}.t VALUES {', '.join(f'({n})' for n in range(1800))}",
    )
    settings = source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))
    ended = Event()

    def application() -> None:
        # What a `SelectSession` of this process sends is none of others.
        with connect(source.server.endpoint) as other, other.cursor() as cursor:
            while not ended.wait(0.001):
                cursor.execute("SELECT 1")

    pace = SourcePace(SnapshotSettings())
    reader = TableReader(lambda: SelectSession(settings), pace, Event())
    worker = Thread(target=application)
    with SelectSession(settings) as session:
        table = SelectedTable.describe(session, schema, "t")
        job = replace(chunk_job(session, table, 0), limit=10_000)
        read_chunk(reader, job, session)  # logs in
        alone, few = read_chunk(reader, job, session)
        worker.start()
        try:
            until = time.monotonic() + 20.0
            while pace.state.reads > 0.5 and time.monotonic() < until:
                pace.wait(session, Event())
                time.sleep(0.1)
            divided, many = read_chunk(reader, job, session)
        finally:
            ended.set()
            worker.join()
            reader.close()
    assert pace.statement_rows == 200
    # What the pace asks the server may be among them.
    assert many - few >= 1800 // 200 - 3
    assert divided.chunk.rows() == alone.chunk.rows()
    assert (divided.is_last, alone.is_last) == (True, True)


def read_chunk(
    reader: TableReader, job: jobs.ChunkJob, session: SelectSession
) -> tuple[jobs.ChunkRead, int]:
    """Return what a reader answers, and how many statements it has sent."""
    before = session.statements_sent
    (result,) = reader.answers(job)
    assert isinstance(result, jobs.ChunkRead)
    return result, session.statements_sent - before
