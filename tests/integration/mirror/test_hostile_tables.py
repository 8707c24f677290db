"""Tables of a real server that get other keys, or swap names, while the job is away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.reader import open_server
from local_stack import connect
from stream_jobs.apply import modes
from stream_jobs.apply.modes.mode import CurrentRows, LastChanges
from tests.integration.harness import wait_until, wait_until_settled
from tests.stream_jobs.history_oracle import (
    CommitTimes,
    problems_of_history,
    problems_of_journal,
)

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]

MODES = [mode.name for mode in modes.MODES.values() if not mode.refuses_key]
# By table: how it begins, what is done in one go, and its key in the end.
STORIES = {
    "anew": (
        ["CREATE TABLE {0} (id INT PRIMARY KEY, a INT)", "INSERT INTO {0} VALUES (1, 1), (2, 2)"],
        [
            "DELETE FROM {0} WHERE id = 1",
            "DROP TABLE {0}",
            "CREATE TABLE {0} (k1 VARCHAR(9) PRIMARY KEY, w INT)",
            "INSERT INTO {0} VALUES ('x', 1), ('y', 2)",
            "DELETE FROM {0} WHERE k1 = 'x'",
        ],
        ["k1"],
    ),
    "counted": (
        ["CREATE TABLE {0} (id INT PRIMARY KEY, a INT)", "INSERT INTO {0} VALUES (1, 1), (2, 2)"],
        [
            "DELETE FROM {0} WHERE id = 1",
            "ALTER TABLE {0} DROP PRIMARY KEY, ADD k5 INT AUTO_INCREMENT PRIMARY KEY",
            "INSERT INTO {0} (id, a) VALUES (7, 7)",
            "DELETE FROM {0} WHERE id = 2",
        ],
        ["k5"],
    ),
    "one": (
        [
            "CREATE TABLE {0} (id INT PRIMARY KEY, a INT)",
            "CREATE TABLE {0}_two (name VARCHAR(9) PRIMARY KEY, id VARCHAR(9))",
            "INSERT INTO {0} VALUES (1, 1), (2, 2)",
            "INSERT INTO {0}_two VALUES ('n', 'm'), ('o', 'p')",
        ],
        [
            "DELETE FROM {0} WHERE id = 1",
            "RENAME TABLE {0} TO {0}_three, {0}_two TO {0}, {0}_three TO {0}_two",
            "DELETE FROM {0} WHERE name = 'n'",
            "UPDATE {0}_two SET a = 5",
            "RENAME TABLE {0} TO {0}_three, {0}_two TO {0}, {0}_three TO {0}_two",
            "INSERT INTO {0} VALUES (3, 3)",
        ],
        ["id"],
    ),
}


def test_other_keys_and_swapped_names_are_followed_in_each_mode(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, job = either_stream, job_of_either
    tables = [{"match": [f"*.{mode}_*"], "mode": mode} for mode in MODES]
    names = {f"{mode}_{story}": mode for mode in MODES for story in STORIES}
    stream.execute(*(s.format(n) for n in names for s in STORIES[_story(n)][0]))
    with stream.connector() as connector:
        stream.wait_for_changes(len(MODES) * (2 + 2 + 4), connector)
        wait_until_settled(stream.broker, stream.prefix)
        job.run(tables=tables)
        assert job.exit_code == 0
        for name in names:
            stream.execute(*(s.format(name) for s in STORIES[_story(name)][1]))
        # The connector copies tables with another key, and those that have swapped names.
        wait_until(
            lambda: not _differences(stream, job, tables, names),
            lambda: f"{_differences(stream, job, tables, names)}\n{connector.output()}",
        )
    source = stream.source
    url = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
    with open_server(url, start=stream.start, stop_at_end=True) as log:
        times = CommitTimes.of_log(log)
    for name, mode in names.items():
        rows = job.data(name, stream.database).to_pylist()
        key = STORIES[_story(name)][2]
        if mode == "journal":
            assert problems_of_journal(rows, key, times) == []
        if mode == "history":
            assert problems_of_history(rows, key, times) == []


def _story(name: str) -> str:
    return name.rpartition("_")[2]


def _differences(
    stream: Stream, job: Job, tables: list[dict[str, Any]], names: dict[str, str]
) -> list[str]:
    """Run the job, which sets no table aside, and return the tables that differ now."""
    wait_until_settled(stream.broker, stream.prefix)
    lines = job.run(tables=tables)
    assert job.exit_code == 0, lines
    assert [line for line in lines if line["event"] == "table_quarantined"] == []
    return [name for name, mode in names.items() if not _is_equal(stream, job, name, mode)]


def _is_equal(stream: Stream, job: Job, name: str, mode: str) -> bool:
    columns, selected = _selected(stream, name)
    rows = job.data(name, stream.database).to_pylist()
    current = modes.MODES[mode].current_rows
    if isinstance(current, LastChanges):
        rows, current = _last_changes(rows, STORIES[_story(name)][2]), CurrentRows()
    assert current is not None, f"mode {mode} needs a comparison of its own"
    flag, value = current
    now = [tuple(row.get(c) for c in columns) for row in rows if not flag or row[flag] == value]
    return sorted(now, key=str) == sorted(selected, key=str)


def _last_changes(rows: list[dict[str, Any]], key: list[str]) -> list[dict[str, Any]]:
    """The last change of each key since the last truncate, without deletes."""
    rows.sort(key=lambda row: (row["_cdc_hi"], row["_cdc_lo"]))
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row["_cdc_op"] == "t":
            last = {}
        else:
            last[tuple(row.get(name) for name in key)] = row
    return [row for row in last.values() if row["_cdc_op"] != "d"]


def _selected(stream: Stream, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description or ()]
        return names, [tuple(row) for row in cursor.fetchall()]
