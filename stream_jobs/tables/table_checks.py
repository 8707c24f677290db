"""What is checked before a table is committed, and what is removed if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import MirrorError, mirror, mirror_records
from connector.errors.message import Message
from stream_jobs.tables.topic_state import path_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.apply.facts import PartResult
    from stream_jobs.delta.storage import Storage
    from stream_jobs.schema.table_schema import TableSchema
    from stream_jobs.source.ranges import OffsetRange


def refuse_gone(
    base: str,
    schema: TableSchema,
    results: Sequence[PartResult],
    batch: Mapping[int, OffsetRange],
) -> None:
    """Raise MirrorError if a table without a mirror has rows from before `batch`."""
    for result in results:
        for partition, offset in result.first_row.items():
            if offset < batch[partition].start:
                raise MirrorError(
                    mirror.MIRROR_GONE, table=schema.name, path=f"{base}/{path_of(schema)}"
                )


def refuse_rows_without_key(results: Sequence[PartResult]) -> None:
    """Raise MirrorError for the first row without a key, in a table that has one."""
    found = [each.keyless for each in results if each.keyless is not None]
    if found:
        raise min(found).corrupt(Message(mirror_records.NO_KEY, {}))


def remove_files(storage: Storage, path: str, results: Sequence[PartResult]) -> None:
    """Remove files of the table at `path` that no commit names, nor will name."""
    for result in results:
        for file in result.files:
            storage.delete(f"{path}/{file.location}")
        result.files = ()
