"""Several small tables that are planned and read together, on real servers."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot import jobs
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.table_plan import plan
from connector.stream.snapshot.table_reader import TableReader
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from tests.integration.snapshots.chunks import BYTES_MAX, chunk_job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.settings.sections import SourceSettings
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

NAMES = ("a", "b", "c")
SETTINGS = SnapshotSettings(pace="full")


@pytest.fixture
def settings(source: Source, schema: str) -> SourceSettings:
    """Return the settings of an account that reads three tables with two rows each."""
    for name in NAMES:
        source.execute(
            f"CREATE TABLE {schema}.{name} (id INT PRIMARY KEY, v VARCHAR(20))",
            f"INSERT INTO {schema}.{name} VALUES (1, '{name} one'), (2, '{name} two')",
        )
    return source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))


@pytest.fixture
def session(settings: SourceSettings) -> Iterator[SelectSession]:
    with SelectSession(settings) as opened:
        yield opened


def answer(settings: SourceSettings, job: jobs.Group) -> jobs.Result:
    """Return what a reader answers."""
    reader = TableReader(lambda: SelectSession(settings), SourcePace(SETTINGS), Event())
    try:
        (result,) = reader.answers(job)
    finally:
        reader.close()
    assert not isinstance(result, jobs.JobFailure), result.error
    assert isinstance(result, (jobs.GroupPlanned, jobs.GroupRead))
    return result


def group(session: SelectSession, schema: str, bytes_max: int = BYTES_MAX) -> jobs.ChunkGroup:
    """Return the job that reads the three tables; their copies have the numbers 0, 1 and 2."""
    chunks = [
        chunk_job(session, SelectedTable.describe(session, schema, name), number)
        for number, name in enumerate(NAMES)
    ]
    return jobs.ChunkGroup(tuple(chunks), bytes_max)


def rows_of(result: jobs.Result) -> dict[int, int]:
    """Return the number of rows of each copy."""
    assert isinstance(result, jobs.GroupRead)
    return {chunk.job.copy: chunk.chunk.count for chunk in result.chunks}


def test_a_plan_of_several_tables_is_that_of_each(
    settings: SourceSettings, session: SelectSession, source: Source, schema: str
) -> None:
    source.execute(
        f"CREATE TABLE {schema}.keyless (v INT)",
        f"CREATE VIEW {schema}.looking AS SELECT * FROM {schema}.a",
    )
    names = (*NAMES, "keyless", "looking", "missing")
    plans = [jobs.PlanJob(number, schema, name) for number, name in enumerate(names)]
    result = answer(settings, jobs.PlanGroup(tuple(plans)))
    assert isinstance(result, jobs.GroupPlanned)
    alone = [plan(session, job, SETTINGS) for job in plans[:4]]
    end = result.plans[0].end
    assert result.plans == [replace(one, end=end) for one in alone]
    assert jobs.left_out(result) == {4, 5}


@pytest.mark.parametrize("keys", [("v", ""), ("", "v")])
def test_copies_of_one_table_keep_their_orders(
    settings: SourceSettings,
    session: SelectSession,
    source: Source,
    schema: str,
    keys: tuple[str, str],
) -> None:
    source.execute(f"CREATE TABLE {schema}.d (id INT PRIMARY KEY, v VARCHAR(9) NOT NULL UNIQUE)")
    plans = [
        jobs.PlanJob(number, schema, "d", f"id > {number}", surrogate_key=key)
        for number, key in enumerate(keys)
    ]
    result = answer(settings, jobs.PlanGroup(tuple(plans)))
    assert isinstance(result, jobs.GroupPlanned)
    assert [one.table.surrogate_key for one in result.plans] == list(keys)
    alone = [plan(session, job, SETTINGS) for job in plans]
    assert result.plans == [replace(one, end=result.plans[0].end) for one in alone]
    tables = [one.table for one in result.plans]
    chunks = [chunk_job(session, table, number) for number, table in enumerate(tables)]
    assert rows_of(answer(settings, jobs.ChunkGroup(tuple(chunks), BYTES_MAX))) == {0: 0, 1: 0}


def test_a_surrogate_key_that_cannot_be_used_is_refused_beside_another_copy(
    settings: SourceSettings, schema: str
) -> None:
    plans = [
        jobs.PlanJob(0, schema, "a", surrogate_key="v"),  # which may be NULL, and is not unique
        jobs.PlanJob(1, schema, "a", "id = 1"),
    ]
    result = answer(settings, jobs.PlanGroup(tuple(plans)))
    assert isinstance(result, jobs.GroupPlanned)
    assert jobs.left_out(result) == {0}


def test_tables_of_a_group_have_one_watermark(
    settings: SourceSettings, session: SelectSession, source: Source, schema: str
) -> None:
    job = group(session, schema)
    source.execute(f"INSERT INTO {schema}.b VALUES (3, 'b three')")
    result = answer(settings, job)
    assert rows_of(result) == {0: 2, 1: 3, 2: 2}
    assert isinstance(result, jobs.GroupRead)
    assert all(chunk.is_last for chunk in result.chunks)
    # The stream reaches the new row before any of the rows is written.
    delivered = job.jobs[0].delivered.position
    assert delivered is not None
    assert all(chunk.end > delivered for chunk in result.chunks)
    assert result.end == max(chunk.end for chunk in result.chunks)


CHANGES = {
    "dropped": "DROP TABLE {}",
    "with other columns": "ALTER TABLE {} ADD COLUMN w INT",
    "without a column that is read": "ALTER TABLE {} DROP COLUMN v",
    "with another key": "ALTER TABLE {} DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_table_that_has_changed_is_left_out(
    settings: SourceSettings, session: SelectSession, source: Source, schema: str, change: str
) -> None:
    job = group(session, schema)
    source.execute(change.format(f"{schema}.b"))
    result = answer(settings, job)
    assert rows_of(result) == {0: 2, 2: 2}
    assert jobs.left_out(result) == {1}


def test_tables_that_are_larger_than_expected_are_left_out(
    settings: SourceSettings, session: SelectSession, schema: str
) -> None:
    result = answer(settings, group(session, schema, bytes_max=1))
    assert rows_of(result) == {0: 2}
    assert jobs.left_out(result) == {1, 2}
