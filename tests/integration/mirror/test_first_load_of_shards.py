"""Tables of many databases that share a mirror: the job reads the first rows of each one itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import StopRequested
from stream_jobs.errors.shard_errors import SHARD_LOAD
from stream_jobs.tables.mirror_table import MirrorTable
from tests.integration.harness import wait_until_settled
from tests.integration.mirror.test_first_load import (
    MIRROR,
    Meanwhile,
    load_waits,
    url,
    wait_for_states,
)
from tests.integration.verification.shards import mirror_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]

ROWS = 200


def fill(stream: Stream, shard: int, kind: str = "INT") -> str:
    """Create a shard with rows of the same keys as the others; return the name of its table."""
    name = f"{stream.database}_{shard}.t"
    rows = ", ".join(f"({number}, {number * shard})" for number in range(1, ROWS + 1))
    stream.execute(
        f"CREATE DATABASE {stream.database}_{shard}",
        f"CREATE TABLE {name} (id INT PRIMARY KEY, n {kind})",
        f"INSERT INTO {name} VALUES {rows}",
    )
    return name


def connector_of(stream: Stream) -> ConnectorProcess:
    return stream.connector(**MIRROR, source__tables=[f"{stream.database}_*.*"])


def run(stream: Stream, job: Job) -> list[dict[str, Any]]:
    wait_until_settled(stream.broker, stream.prefix)
    lines = job.run(first_load=url(stream), tables=[mirror_of(stream)])
    assert job.exit_code == 0, lines
    return lines


def selected(stream: Stream, columns: str, *shards: int) -> list[tuple[Any, ...]]:
    with connect(stream.source) as connection, connection.cursor() as cursor:
        found = []
        for shard in shards:
            cursor.execute(f"SELECT {columns} FROM {stream.database}_{shard}.t ORDER BY id")
            found += [(str(shard), *row) for row in cursor.fetchall()]
    return found


def mirrored(stream: Stream, job: Job, *columns: str) -> list[tuple[Any, ...]]:
    return job.rows("t", "shard", *columns, database=stream.database)


def test_shards_are_loaded_beside_each_other_while_they_change(
    stream: Stream, own_job: Job
) -> None:
    one, two = fill(stream, 1), fill(stream, 2)
    with connector_of(stream) as connector:
        wait_for_states(connector, 2)
        stream.execute(f"DELETE FROM {two} WHERE id = 9")
        meanwhile = Meanwhile(
            own_job,
            stream,
            {
                2: (f"DELETE FROM {one} WHERE id IN (1, 199)", f"UPDATE {two} SET n = -n"),
                3: (f"UPDATE {one} SET id = 1000 WHERE id = 2", f"INSERT INTO {two} VALUES (9, 0)"),
                5: (f"UPDATE {one} SET id = 5000 - id WHERE id BETWEEN 100 AND 150",),
                6: (f"INSERT INTO {two} SELECT id, n FROM {one} WHERE id > 1000",),
            },
        )
        run(stream, own_job)
        assert meanwhile.ranges > 6
        run(stream, own_job)
    assert mirrored(stream, own_job, "id", "n") == selected(stream, "id, n", 1, 2)
    cut = CutStore(storage_of(f"{own_job.folder}/mirror"), "").latest()
    assert cut is not None
    assert list(cut.tables) == [f"{stream.database}.t"]


def test_a_shard_that_is_altered_is_loaded_again_and_no_other(stream: Stream, own_job: Job) -> None:
    one, two = fill(stream, 1), fill(stream, 2)
    with connector_of(stream) as connector:
        wait_for_states(connector, 2)
        altered = f"ALTER TABLE {one} ADD COLUMN extra INT DEFAULT 5"
        Meanwhile(own_job, stream, {4: (altered, f"UPDATE {one} SET n = 0 WHERE id < 9")})
        run(stream, own_job)
        stream.wait_for_changes(8, connector)
        run(stream, own_job)
        stream.execute(f"UPDATE {two} SET n = 1 WHERE id = 1")
        stream.wait_for_changes(9, connector)
        run(stream, own_job)
    rows = mirrored(stream, own_job, "id", "n", "extra")
    wanted = selected(stream, "id, n, extra", 1)
    assert rows == wanted + [(*row, None) for row in selected(stream, "id, n", 2)]


def test_a_shard_with_a_wider_type_waits_until_the_mirror_has_it(
    stream: Stream, own_job: Job
) -> None:
    one = fill(stream, 1)
    fill(stream, 2, "BIGINT")
    with connector_of(stream) as connector:
        wait_for_states(connector, 2)
        assert load_waits(run(stream, own_job)) == [SHARD_LOAD.code]
        assert mirrored(stream, own_job, "id", "n") == selected(stream, "id, n", 1)
        stream.execute(f"ALTER TABLE {one} MODIFY COLUMN n BIGINT", f"UPDATE {one} SET n = {2**40}")
        stream.wait_for_changes(ROWS, connector)
        run(stream, own_job)
        run(stream, own_job)
    assert mirrored(stream, own_job, "id", "n") == selected(stream, "id, n", 1, 2)


def test_a_shard_may_have_a_narrower_type(stream: Stream, own_job: Job) -> None:
    fill(stream, 1, "BIGINT")
    fill(stream, 2, "INT")
    with connector_of(stream) as connector:
        wait_for_states(connector, 2)
        assert load_waits(run(stream, own_job)) == []
    assert mirrored(stream, own_job, "id", "n") == selected(stream, "id, n", 1, 2)


def test_a_load_that_is_told_to_stop_while_it_waits_for_a_turn_has_no_problem(
    stream: Stream, own_job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run, or a later step of this one, begins it, and reads the range again."""
    for shard in (1, 2):
        fill(stream, shard)

    def stopped_once(act: Callable[..., Any]) -> Callable[..., Any]:
        stops = iter([StopRequested()])

        def stopping(*arguments: Any) -> Any:
            if (stop := next(stops, None)) is not None:
                raise stop
            return act(*arguments)

        return stopping

    monkeypatch.setattr(MirrorTable, "commit_load", stopped_once(MirrorTable.commit_load))
    monkeypatch.setattr(MirrorTable, "add_shard", stopped_once(MirrorTable.add_shard))
    with connector_of(stream) as connector:
        wait_for_states(connector, 2)
        assert load_waits(run(stream, own_job)) == []
    assert mirrored(stream, own_job, "id", "n") == selected(stream, "id, n", 1, 2)
    delta = DeltaTable.open(storage_of(f"{own_job.folder}/mirror"), f"{stream.database}/t")
    assert delta is not None
    written = {path.name for path in Path(own_job.path("t", stream.database)).rglob("*.parquet")}
    known = {path.rpartition("/")[2] for path in delta.snapshot.files}
    assert {name for name in written if "checkpoint" not in name} == known
