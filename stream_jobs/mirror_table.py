"""The mirror of one table, as the driver sees it: a Delta table that holds its own progress."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyroaring import BitMap

from connector.errors import MirrorError, mirror, mirror_tables
from stream_jobs.apply.facts import MirrorFacts
from stream_jobs.delta import upkeep
from stream_jobs.delta.compaction import Limits
from stream_jobs.delta.metadata import Metadata
from stream_jobs.delta.table import Change, DeltaTable
from stream_jobs.progress import DOMAIN, Progress
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream_jobs.apply.facts import ParsedAs, PartResult
    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.storage import Storage
    from stream_jobs.sequence import PackedSequence
    from stream_jobs.table_schema import TableSchema

TABLE_PROPERTY: Final = "cdc.table"
SCHEMA_PROPERTY: Final = "cdc.schema_id"
# Bytes: how large files become, and what a batch reads at most for that.
_COMPACTION: Final = Limits(target=128 * 1024 * 1024, budget=64 * 1024 * 1024)
# What a table of another program has.
_FOREIGN: Final = (
    mirror_tables.COLUMN_UNKNOWN,
    mirror_tables.FEATURES_UNKNOWN,
    mirror_tables.OTHER_PROTOCOL,
)


@dataclass(slots=True)
class MirrorTable:
    """A Delta table, its progress, and the schema that it follows."""

    delta: DeltaTable
    progress: Progress

    @classmethod
    def open(cls, storage: Storage, path: str, table: str, base: str) -> MirrorTable | None:
        """Return the mirror of `table` at `path`; None if there is none.

        Raises MirrorError if the path, which is below `base`, holds something else.
        """
        foreign = MirrorError(mirror.ANOTHER_TABLE, path=f"{base.rstrip('/')}/{path}", table=table)
        try:
            delta = DeltaTable.open(storage, path)
        except MirrorError as error:
            if error.code in _FOREIGN:
                raise foreign from error
            raise
        if delta is None:
            return None
        text = delta.snapshot.domains.get(DOMAIN)
        if text is None or delta.snapshot.configuration.get(TABLE_PROPERTY) != table:
            raise foreign
        try:
            return cls(delta, Progress.read(text))
        except (ValueError, KeyError, TypeError) as error:
            raise foreign from error

    @classmethod
    def create(
        cls,
        storage: Storage,
        path: str,
        schema: TableSchema,
        columns: Sequence[Column],
        progress: Progress,
    ) -> MirrorTable:
        """Create the mirror without rows. Raises CommitConflict if there is a table."""
        own = {TABLE_PROPERTY: schema.name, SCHEMA_PROPERTY: schema.schema_id}
        metadata = Metadata(tuple(columns), upkeep.PROPERTIES | own)
        delta = DeltaTable.create(storage, path, metadata, {DOMAIN: progress.write()})
        return cls(delta, progress)

    @property
    def is_empty(self) -> bool:
        """Whether the table has no row."""
        return not any(file.live for file in self.delta.snapshot.files.values())

    def facts(self, schema: TableSchema, parses: Mapping[str, ParsedAs]) -> MirrorFacts:
        """Return what a task needs to know."""
        snapshot = self.delta.snapshot
        by_name = {column.name: column for column in snapshot.columns}
        columns = tuple(by_name[name] for name in (*schema.by_name, HI, LO))
        files = tuple(snapshot.files.values())
        return MirrorFacts(self.delta.path, schema, columns, files, parses)

    def commit_rows(self, results: Sequence[PartResult], progress: Progress) -> None:
        """Commit the files of tasks, the rows that they replace, and the progress.

        Raises CommitConflict if somebody else has committed meanwhile.
        """
        new = [result.file for result in results if result.file is not None]
        self._commit(Change(new=new, dead=_joined(results)), "MERGE", progress)

    def commit_floor(self, results: Sequence[PartResult], floor: PackedSequence) -> None:
        """Commit that the rows below `floor` are gone. Raises CommitConflict as `commit_rows`."""
        progress = replace(self.progress, floor=floor)
        self._commit(Change(dead=_joined(results)), "TRUNCATE", progress)

    def commit_schema(
        self,
        schema: TableSchema,
        columns: Sequence[Column],
        results: Sequence[PartResult] | None,
        since: PackedSequence,
    ) -> None:
        """Commit another column list; `results` are the files that replace all others, if given.

        Raises CommitConflict as `commit_rows`.
        """
        snapshot = self.delta.snapshot
        metadata = snapshot.metadata.with_columns(columns).with_properties(
            {SCHEMA_PROPERTY: schema.schema_id}
        )
        progress = replace(self.progress, schema_id=schema.schema_id, since=since)
        change = Change(metadata=metadata)
        if results is not None:
            new = [result.file for result in results if result.file is not None]
            change = replace(change, new=new, removed=tuple(snapshot.files.values()))
        self._commit(change, "CHANGE COLUMNS", progress)

    def tidy(self, key: Sequence[str]) -> None:
        """Write checkpoints, delete what nobody needs and join small files, when it is time.

        Raises MirrorError if a file cannot be read, or if the storage fails.
        """
        upkeep.clean_up(self.delta)
        upkeep.compact(self.delta, key, _COMPACTION)

    def refresh(self) -> None:
        """Read what others have committed."""
        snapshot = self.delta.refresh()
        self.progress = Progress.read(snapshot.domains[DOMAIN])

    def _commit(self, change: Change, operation: str, progress: Progress) -> None:
        self.delta.commit(replace(change, domains={DOMAIN: progress.write()}), operation)
        self.progress = progress


def _joined(results: Iterable[PartResult]) -> dict[str, bytes]:
    """Return the dead rows of several tasks by path of a file."""
    dead: dict[str, bytes] = {}
    for result in results:
        for path, positions in result.dead.items():
            if path in dead:
                both = BitMap.deserialize(dead[path]) | BitMap.deserialize(positions)
                dead[path] = both.serialize()
            else:
                dead[path] = positions
    return dead
