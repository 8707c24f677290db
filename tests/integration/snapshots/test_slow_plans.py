"""A server that does not answer the questions of a plan in time, on real servers."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot import copy_errors, jobs
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.table_reader import TableReader
from connector.stream.source.select_session import SelectSession
from local_stack import connect
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from connector.foundation.settings.sections import SourceSettings
    from connector.replication.protocol.result_set import RowReceiver
    from connector.stream.envelope.copied_chunk import Chunk
    from connector.stream.envelope.selected_rows import SelectRowWriter
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

ROWS = 400
SECONDS = 0.5
SETTINGS = SnapshotSettings(pace="full", chunk_rows=10, statement_seconds_max=SECONDS)
# What questions for the parts of a table contain: how many rows there are, and which key is first.
ESTIMATE, FIRST_KEY = "EXPLAIN", "ORDER BY `id` LIMIT 1"


class Place(NamedTuple):
    """A large table and a small one, an account that reads them, and who locks the large one."""

    schema: str
    settings: SourceSettings
    lock: Callable[[], object]


@pytest.fixture
def place(source: Source, schema: str) -> Iterator[Place]:
    values = ", ".join(f"({number})" for number in range(ROWS))
    source.execute(
        f"CREATE TABLE {schema}.large (id INT PRIMARY KEY)",
        f"CREATE TABLE {schema}.small (id INT PRIMARY KEY)",
        f"INSERT INTO {schema}.large VALUES {values}",
        f"ANALYZE TABLE {schema}.large",
    )
    settings = source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))
    with connect(source.server.endpoint, schema) as connection, connection.cursor() as cursor:
        yield Place(schema, settings, partial(cursor.execute, "LOCK TABLES large WRITE"))


class HeldUpSession(SelectSession):
    """A session that finds a table locked from a question on."""

    def __init__(self, place: Place, question: str) -> None:
        """Have the table locked before a statement that contains `question`."""
        self._lock: Callable[[], object] | None = place.lock
        self._question = question
        super().__init__(place.settings)

    def query(self, sql: str) -> list[dict[str, str | None]]:
        """Run a statement."""
        self._look_at(sql)
        return super().query(sql)

    def read_rows(self, sql: str, receiver: RowReceiver) -> None:
        """Run a SELECT."""
        self._look_at(sql)
        super().read_rows(sql, receiver)

    def read_chunks(
        self, sql: str, writer: SelectRowWriter, bytes_max: int
    ) -> Generator[tuple[Chunk, bool], None, None]:
        """Run a SELECT of rows."""
        self._look_at(sql)
        return super().read_chunks(sql, writer, bytes_max)

    def _look_at(self, sql: str) -> None:
        if self._question in sql and self._lock is not None:
            self._lock()
            self._lock = None


def answer(
    place: Place, job: jobs.Job, question: str, settings: SnapshotSettings = SETTINGS
) -> object:
    """Return what a reader answers if the large table is locked at a question."""
    reader = TableReader(lambda: HeldUpSession(place, question), SourcePace(settings), Event())
    with closing(reader), closing(reader.answers(job)) as answers:
        return next(answers)


@pytest.mark.parametrize("question", [ESTIMATE, FIRST_KEY])
def test_a_table_waits_whose_parts_cannot_be_found_in_time(place: Place, question: str) -> None:
    busy = answer(place, jobs.PlanJob(0, place.schema, "large"), question)
    assert isinstance(busy, jobs.TableBusy)
    assert busy.error.text == text_of(
        copy_errors.SLOW, table=f"{place.schema}.large", seconds=SECONDS
    )


def test_a_table_waits_whose_rows_cannot_be_counted_in_time(place: Place) -> None:
    """The server estimates fewer rows than are worth parts, and may be wrong."""
    more = SETTINGS.model_copy(update={"chunk_rows": ROWS})
    busy = answer(place, jobs.PlanJob(0, place.schema, "large"), " AS found ", more)
    assert isinstance(busy, jobs.TableBusy)
    assert busy.error.code is copy_errors.SLOW


def test_a_table_waits_whose_last_key_cannot_be_found_in_time(place: Place) -> None:
    at_once = SETTINGS.model_copy(update={"connections": 1})
    job = jobs.PlanJob(0, place.schema, "large", with_maximum=True)
    busy = answer(place, job, "DESC LIMIT 1", at_once)
    assert isinstance(busy, jobs.TableBusy)
    assert busy.error.code is copy_errors.SLOW


@pytest.mark.parametrize("question", [ESTIMATE, FIRST_KEY])
def test_other_tables_of_a_group_do_not_wait(place: Place, question: str) -> None:
    plans = [jobs.PlanJob(0, place.schema, "large"), jobs.PlanJob(1, place.schema, "small")]
    planned = answer(place, jobs.PlanGroup(tuple(plans)), question)
    assert isinstance(planned, jobs.GroupPlanned)
    assert jobs.left_out(planned) == {0}
