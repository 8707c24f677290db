"""What a shard of a mirror is in the Delta table: its files, its columns and its progress.

*Domains* of the log hold for each shard its list (`ShardList`) and its progress.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.tables import mirror_metadata
from stream_jobs.tables.shard_columns import ShardList

LISTS: Final = f"{mirror_metadata.DOMAIN}/shard/"
PROGRESS: Final = f"{mirror_metadata.DOMAIN}/progress/"


def shard_lists(whole: Snapshot) -> dict[str, ShardList]:
    """Return what a mirror knows about its shards, by their values; empty for other mirrors."""
    return {
        domain.removeprefix(LISTS): ShardList.read(text)
        for domain, text in whole.domains.items()
        if domain.startswith(LISTS)
    }


def shard_of_file(whole: Snapshot, file: DataFile) -> str | None:
    """Return the shard that a file of a mirror belongs to."""
    return file.partition_values.get(shard_column(whole.metadata).physical_name)


def files_by_shard(whole: Snapshot) -> dict[str | None, dict[str, DataFile]]:
    """Return the files of each shard, by their paths."""
    name = shard_column(whole.metadata).physical_name
    found: dict[str | None, dict[str, DataFile]] = {}
    for path, file in whole.files.items():
        found.setdefault(file.partition_values.get(name), {})[path] = file
    return found


def shard_snapshot(whole: Snapshot, shard: str, files: Mapping[str, DataFile]) -> Snapshot:
    """Return a version of a mirror as its shard with this value sees it; `files` are its own.

    Raises KeyError if the version does not have it.
    """
    own = ShardList.read(whole.domains[LISTS + shard])
    metadata = replace(
        whole.metadata,
        columns=own.columns_in(whole.metadata),
        configuration={**whole.configuration, **own.properties},
        partition_columns=whole.metadata.partition_columns[1:],
    )
    domains = {mirror_metadata.DOMAIN: whole.domains[PROGRESS + shard]}
    return replace(whole, metadata=metadata, files=files, domains=domains)


def shard_column(metadata: Metadata) -> Column:
    """Return the column of a mirror that says which shard a row belongs to."""
    name = metadata.configuration[mirror_metadata.SHARD_PROPERTY]
    return next(column for column in metadata.columns if column.name == name)
