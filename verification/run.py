"""All tables once: what the command `verify` calls."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError
from connector.foundation.settings.sections import Settings
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.copy_requests import matching_tables, names_ignore_case
from connector.stream.snapshot.table_plan import followed_tables
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.settings import load_settings
from verification import verify_errors
from verification.pass_state import PassState
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer
from verification.report import TableResult, key_of
from verification.run_progress import RunProgress
from verification.shard_check import surplus_shards
from verification.small_tables import SmallTables
from verification.table_check import Limits
from verification.table_comparison import TableComparison
from verification.table_definitions import DefinedTable, TableName, TablesInParts
from verification.table_queue import QueuedTable, Size, TableQueue

# More tables do not wait for their turn: each keeps its definition.
WAITING_MAX: Final = 200


def verify(
    settings: Settings,
    job: Path,
    patterns: Sequence[str],
    limits: Limits,
    progress: RunProgress,
    path: Path | None = None,
    *,
    of_replica: bool,
) -> Iterator[TableResult]:
    """Compare the tables that match, all followed ones without a pattern; yield each result.

    `settings` are the connector's, and `job` is the configuration of the Spark job. `progress`
    gets what was read. At `path` is the state of a pass that can be interrupted. Raises
    ConfigError for a pattern that matches nothing, without a table, and for wrong settings, the
    errors of connecting, and those of `PassState` and `TableComparison`.
    """
    mirror = job_settings(settings, job)
    server = ReplicaServer(mirror) if of_replica else None
    with Pipeline(settings, limits.patience_seconds, limits.rows_per_second) as pipeline:
        names = table_names(pipeline, patterns)
        state = None if path is None else _state(path, pipeline, mirror, server, patterns)
        progress.begin(len(names))
        comparison = TableComparison(pipeline, mirror, server, limits, progress.read, state)
        for result in _tables(pipeline, comparison, names, state):
            progress.end(result.name, result.rows + result.mirror_rows)
            yield result
        if not (patterns or of_replica):
            yield from surplus_shards(mirror, names)
        if state is not None:
            state.end()


def _state(
    path: Path,
    pipeline: Pipeline,
    job: JobSettings,
    server: ReplicaServer | None,
    patterns: Sequence[str],
) -> PassState:
    """Return the state at `path`: what is in it, and what comes, is of one server on each side."""
    target = None if server is None else server.stay()
    return PassState(path, what_is_compared(pipeline, job, server, patterns), target)


def _tables(
    pipeline: Pipeline,
    comparison: TableComparison,
    names: Sequence[TableName],
    state: PassState | None,
) -> Iterator[TableResult]:
    """Compare some tables, and yield each result when it is there.

    Small ones are compared together; of those that are not equal, many wait at the same time
    until the mirror has what the source has.
    """
    is_together = comparison.is_whole and not comparison.is_of_replica
    with (
        SmallTables(pipeline, comparison.opened) as small,
        TableQueue[TableName, TableResult]() as queue,
        TablesInParts(pipeline.session, names) as parts,
    ):
        for some, defined in parts:
            begun = {name for name in some if state is not None and state.has(key_of(name))}
            new = {name: own for name, own in defined.items() if name not in begun}
            found = small.compared(new if is_together else {})
            comparison.keep(found.others)
            for name in some:
                if name in found.equal:
                    yield _finished(found.equal[name], state)
                elif name in found.others:
                    compare = partial(comparison.compared, name, defined.get(name), "rows")
                    queue.add(name, "small", compare)
                else:
                    size: Size = "medium" if name in found.of_other_kinds else "large"
                    if not is_together:
                        size = _size(comparison, defined.get(name))
                    compare = partial(comparison.compared, name, defined.get(name), "all")
                    queue.add(name, size, compare)
            yield from _results(queue.ended(WAITING_MAX), state)
        yield from _results(queue.ended(0), state)


def _size(comparison: TableComparison, defined: DefinedTable | None) -> Size:
    """Return what a table needs of which a part is compared, or a replica."""
    is_part = not comparison.is_whole
    has_few = defined is not None and defined.has_few_rows
    return "medium" if is_part or has_few else "large"


def _results(
    ended: Iterator[QueuedTable[TableName, TableResult]], state: PassState | None
) -> Iterator[TableResult]:
    """Yield what was found; raises what a table has raised."""
    for table in ended:
        yield _finished(table.compared.result(), state)


def _finished(result: TableResult, state: PassState | None) -> TableResult:
    """Return a result with the time, and note it for the next run."""
    if state is not None and state.is_equal(result.key):
        return result
    result.compared_at = result.compared_at or datetime.now(UTC).isoformat(timespec="seconds")
    if state is not None:
        state.finish(result)
    return result


def what_is_compared(
    pipeline: Pipeline, job: JobSettings, server: ReplicaServer | None, patterns: Sequence[str]
) -> dict[str, object]:
    """Return what is compared with what, by words that people know."""
    choices = [table.model_dump(mode="json", exclude_none=True) for table in job.tables]
    return {
        "pipeline": pipeline.settings.name,
        "topic prefix": job.kafka.topic_prefix,
        "server": pipeline.server_uuid,
        "mirror": job.mirror.path,
        "replica": None if server is None else f"{job.name} at {server.name}",
        "server of the replica": None if server is None else server.uuid,
        "choices for tables": sha256(json.dumps(choices).encode()).hexdigest(),
        "tables": sorted(patterns),
    }


def job_settings(settings: Settings, job: Path) -> JobSettings:
    """Return the settings of the Spark job. Raises ConfigError if they are of other topics."""
    mirror = load_settings(job)
    if mirror.kafka.topic_prefix != settings.kafka.topic_prefix:
        raise ConfigError(
            verify_errors.OTHER_TOPICS,
            path=job,
            mirror=mirror.kafka.topic_prefix,
            connector=settings.kafka.topic_prefix,
        )
    return mirror


def table_names(pipeline: Pipeline, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Return database and table of those that match, of all followed ones without a pattern.

    Raises ConfigError for a pattern that matches nothing, and if no table is followed; and the
    errors of a session.
    """
    if patterns:
        return matching_tables(pipeline.session, pipeline.settings, patterns)
    source = pipeline.settings.source
    ignores_case = names_ignore_case(pipeline.session)
    tables = TableFilter(source.tables, source.exclude_tables, ignores_case=ignores_case)
    names = followed_tables(pipeline.session, tables)
    if not names:
        # Nothing would be equal to nothing.
        pattern = ", ".join(source.tables) or "*.*"
        raise ConfigError(copy_errors.NO_TABLE, pattern=pattern, server=pipeline.session.name)
    return names
