"""The mirrors that shards share, as a whole: each shard is compared with its table by itself.

What is left is what belongs to no table: rows of a shard whose table the source does not have any
more, or that is not followed, and files of no shard. If pipelines share the mirror, the shards of
the others are compared by their own configurations, and only counted here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.tables.mirror_metadata import SHARD_PROPERTY, TABLE_PROPERTY
from stream_jobs.tables.mirror_table import mirror_path
from stream_jobs.tables.shard_columns import ShardList
from stream_jobs.tables.shard_view import shard_lists, shard_of_file
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import verify_errors
from verification.report import Difference, TableResult
from verification.table_definitions import TableName


def surplus_shards(job: JobSettings, names: Iterable[TableName]) -> Iterator[TableResult]:
    """Yield what is different in the mirrors of `job` that the tables `names` share.

    `names` are all tables that are followed; each one that is a shard is compared elsewhere.
    """
    storage, choices = storage_of(job.mirror.path), TableOptionsResolver.of_settings(job)
    prefix = job.kafka.topic_prefix if job.mirror.shared else ""
    is_first = folder_of(job).base == job.mirror.path.rstrip("/")
    tables: dict[tuple[str, str], list[str]] = {}
    for database, table in names:
        if choices.of(database, table).shard is not None:
            tables.setdefault(choices.place(database, table), []).append(f"{database}.{table}")
    for place, shards in sorted(tables.items()):
        result = TableResult(".".join(place))
        try:
            delta = DeltaTable.open(storage, mirror_path(storage, *place))
        except MirrorError as error:
            result.error = error
            yield result
            continue
        # A mirror of one table is told with each shard.
        if delta is None or SHARD_PROPERTY not in delta.snapshot.configuration:
            continue
        own = _OwnShards(prefix, is_first, frozenset(shards))
        surplus, others = own.divided(delta.snapshot)
        if others:
            rows = sum(others.values())
            facts = {"table": result.name, "shards": sorted(others), "rows": rows}
            kept = MirrorError(verify_errors.OTHER_PIPELINES, **facts)
            yield TableResult(result.name, error=kept, is_left_out=True)
        if surplus:
            column = delta.snapshot.configuration[SHARD_PROPERTY]
            result.differences = [
                Difference("surplus", {column: value, "rows": rows}, None, None)
                for value, rows in sorted(surplus.items())
            ]
            result.rows, result.mirror_rows = 0, delta.snapshot.live_rows
            result.version = delta.snapshot.version
            yield result


class _OwnShards(NamedTuple):
    """The shards of one pipeline."""

    prefix: str  # of its topics; "" if no other pipeline has shards in the mirror
    is_first: bool  # whether it has had the mirror first, and so the shards that name no pipeline
    tables: Collection[str]  # that it follows

    def divided(self, whole: Snapshot) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the rows of each shard that is none of the tables, and those of other pipelines.

        A file of no shard belongs to nobody.
        """
        lists = shard_lists(whole)
        surplus, others = dict[str, int](), dict[str, int]()
        for file in whole.files.values():
            value = shard_of_file(whole, file) or ""
            known = lists.get(value)
            if not file.live:
                continue
            if known is not None and not self._has(known):
                others[value] = others.get(value, 0) + file.live
            elif known is None or known.properties[TABLE_PROPERTY] not in self.tables:
                surplus[value] = surplus.get(value, 0) + file.live
        return surplus, others

    def _has(self, known: ShardList) -> bool:
        if not self.prefix:
            return True
        return self.is_first if known.prefix is None else known.prefix == self.prefix
