"""A table is copied long after its changes: the versions of a history have the times of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.reader import open_server
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

COPIED = {
    # Each statement makes the connector copy the table: its rows are not in the log.
    "altered": "ALTER TABLE altered MODIFY b VARCHAR(30) CHARACTER SET latin1",
    "exchanged": "ALTER TABLE exchanged EXCHANGE PARTITION p0 WITH TABLE other",
    "children": "DELETE FROM parents WHERE id = 1",
}

STREAMED = 12 + 4 + 4 + 1 + 2 + 2 + 2
# Of each table a `t` record, and the rows; the other table of the exchange is copied, too.
COPIED_RECORDS = 3 + 3 + 3 + 2 + 3


def test_no_moment_has_two_versions_after_copies_that_came_late(
    either_stream: Stream, job_of_either: Job
) -> None:
    stream, own_job = either_stream, job_of_either
    tables = [
        {"match": ["*.j_*"], "mode": "journal"},
        {"match": ["*.*"], "mode": "history"},
    ]
    columns = "(id INT PRIMARY KEY, a INT, b VARCHAR(20))"
    stream.execute(
        *(
            f"CREATE TABLE {name} {columns}"
            for name in ("altered", "other", "parents", "j_altered")
        ),
        f"CREATE TABLE exchanged {columns} PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN "
        "(100), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE children (id INT PRIMARY KEY, a INT, b VARCHAR(20), parent INT, FOREIGN KEY "
        "(parent) REFERENCES parents (id) ON DELETE CASCADE)",
        *(
            f"INSERT INTO {name} VALUES (1, 1, 'x'), (2, 1, 'y')"
            for name in ("altered", "exchanged", "other", "parents", "j_altered")
        ),
        "INSERT INTO children VALUES (1, 1, 'x', 1), (2, 1, 'y', 2)",
    )
    with stream.connector() as connector:
        stream.wait_for_changes(12, connector)
        wait_until_settled(stream.broker, stream.prefix)
    assert own_job.run(tables=tables)
    # The connector is not there while the tables change, and the clock goes on.
    for name, statement in COPIED.items():
        stream.execute(statement)
        for value in (2, 3):
            stream.execute(f"UPDATE {name} SET a = {value}")
    stream.execute("ALTER TABLE j_altered MODIFY b VARCHAR(30) CHARACTER SET latin1")
    stream.execute("UPDATE j_altered SET a = 2")
    with stream.connector() as connector:
        wait_until(
            lambda: connector.output().count('"message": "copied"') >= len(COPIED) + 2,
            connector.output,
        )
        stream.execute("UPDATE altered SET a = 4")
        stream.wait_for_changes(STREAMED + COPIED_RECORDS, connector)
        wait_until_settled(stream.broker, stream.prefix)
    lines = own_job.run(tables=tables)
    assert own_job.exit_code == 0, lines
    source = stream.source
    url = f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"
    with open_server(url, start=stream.start, stop_at_end=True) as log:
        times = CommitTimes.of_log(log)
    for name in COPIED:
        rows = own_job.data(name, stream.database).to_pylist()
        assert "t" in {row["_cdc_end_op"] for row in rows}, name
        assert problems_of_history(rows, ["id"], times) == []
    rows = own_job.data("j_altered", stream.database).to_pylist()
    assert {row["_cdc_op"] for row in rows} == {"c", "t", "r", "u"}
    assert problems_of_journal(rows, ["id"], times) == []
