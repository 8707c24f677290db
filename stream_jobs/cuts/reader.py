"""All tables of a mirror as of one cut, without Spark and without the job.

found = mirror_at("/data/mirror", gtid="3e11fa47-71ca-11e1-9e33-c80aa9429562:4711")
found.tables["shop.orders"]           # path and version, for any reader of Delta
found.delta_tables()["shop.orders"]   # a deltalake.DeltaTable of that version

found = mirror_at("/data/mirror", format="iceberg")
found.tag                             # `cut_42`: each table has it; of a pipeline that shares the
                                      # mirror, `cut_<prefix>_42`
found.tables["shop.orders"]           # path and snapshot, for any reader of Iceberg
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple

import deltalake

from connector.foundation.errors import ConfigError
from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.cut import Cut, CutTable, cut_at
from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.log import Log, now
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.cut_tags import ALONE, CutTags
from stream_jobs.iceberg.metadata import tags
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import newest_owner, pipeline_folder

# Tables that are looked at together.
_THREADS: Final = 16


class TableAt(NamedTuple):
    """A table as of a cut."""

    path: str  # with that of the mirror; of an Iceberg table, as a URI
    version: int  # of an Iceberg table, the id of a snapshot: it is the same number


@dataclass(frozen=True, slots=True)
class MirrorAt:
    """The tables of a mirror as of `cut`.

    If pipelines share the mirror, that is true of the rows in `cut.shards` alone.
    """

    cut: Cut
    tables: Mapping[str, TableAt]  # by `database.table`
    # What the tags of the pipeline are called.
    tags: CutTags = ALONE

    @property
    def tag(self) -> str:
        """The tag that Iceberg tables have at this cut."""
        return self.tags.of(self.cut.number)

    def delta_tables(
        self, storage_options: dict[str, str] | None = None
    ) -> dict[str, deltalake.DeltaTable]:
        """Open each Delta table with `deltalake`, an optional package."""
        from deltalake import DeltaTable as DeltaRs  # noqa: PLC0415  # of an extra

        return {
            name: DeltaRs(own.path, version=own.version, storage_options=storage_options)
            for name, own in self.tables.items()
        }


def mirror_at(
    path: str,
    *,
    gtid: str | None = None,
    time: datetime | None = None,
    format: Literal["delta", "iceberg"] = "delta",  # noqa: A002  # the word of the settings
    prefix: str | None = None,
) -> MirrorAt:
    """Return the tables of the mirror at `path`, which is `mirror.path` of the job.

    They are as of the first cut with all transactions of `gtid`; or of the last one that is not
    after `time` at the source; or of the newest one. With the `format` Iceberg, only the cuts count
    whose tag all tables have, and tables that are not published are left out. If pipelines share
    the mirror, `prefix` is the `kafka.topic_prefix` of the one whose cut it is.

    Raises MirrorError if there is no such cut, or if it cannot be read any more; ConfigError for a
    path or a GTID that is none, or if it lacks the prefix.
    """
    storage = storage_of(path)
    base = path.rstrip("/")
    if prefix == "":
        raise ConfigError(cut_errors.PREFIX_MISSING, path=base)
    folder = pipeline_folder(path, prefix)
    owner = newest_owner(*folder)
    is_shared = owner is not None and owner.shared
    if prefix is None and is_shared:
        raise ConfigError(cut_errors.PREFIX_MISSING, path=base)
    record = None
    if format == "iceberg":
        record = PublicationRecord.read(*folder) or PublicationRecord()
    among = None if record is None else record.cuts
    cut = cut_at(folder.storage, gtid=gtid, time=time, root=folder.base, among=among)
    if cut is None:
        wanted = "yet"
        if gtid is not None:
            wanted = f"with {gtid}"
        elif time is not None:
            wanted = f"up to {time.isoformat()}"
        wanted += "" if record is None else " in Iceberg"
        raise MirrorError(cut_errors.NO_CUT, path=folder.base, wanted=wanted)
    if record is not None:
        return _iceberg_at(storage, base, cut, record.tags, is_shared=is_shared)
    _look_at(storage, base, cut, cut.tables, is_shared=is_shared)
    tables = {name: TableAt(f"{base}/{own.path}", own.version) for name, own in cut.tables.items()}
    return MirrorAt(cut, tables)


def _iceberg_at(
    storage: Storage, base: str, cut: Cut, names: CutTags, *, is_shared: bool
) -> MirrorAt:
    """Return the Iceberg tables that have the tag of a cut."""
    files = TableFiles(storage, reader_uri(base))
    with ThreadPoolExecutor(_THREADS) as pool:
        heads = list(pool.map(lambda own: files.load(own.path), cut.tables.values()))
    published = {
        name: tags(head.metadata).get(names.of(cut.number))
        for name, head in zip(cut.tables, heads, strict=True)
        if head is not None
    }
    if is_shared:
        # A tag that is missing may have been there: other pipelines remove tags, as they do files.
        _look_at(storage, base, cut, published, is_shared=True)
    tables = {}
    for name, tag in published.items():
        own = cut.tables[name]
        if tag not in (None, own.version):
            raise _gone(base, cut, name)
        if tag is not None:
            tables[name] = TableAt(files.location(own.path), tag)
    return MirrorAt(cut, tables, names)


def _look_at(
    storage: Storage, base: str, cut: Cut, names: Iterable[str], *, is_shared: bool
) -> None:
    """Raise MirrorError unless each of the tables `names` can be read at a cut."""
    known = list(names)
    with ThreadPoolExecutor(_THREADS) as pool:
        are_there = pool.map(
            lambda name: _is_there(storage, cut.tables[name], is_shared=is_shared), known
        )
        for name, is_there in zip(known, are_there, strict=True):
            if not is_there:
                raise _gone(base, cut, name)


def _gone(base: str, cut: Cut, name: str) -> MirrorError:
    facts = {"number": cut.number, "path": base, "table": name}
    return MirrorError(cut_errors.TABLE_GONE, **facts, version=cut.tables[name].version)


def _is_there(storage: Storage, own: CutTable, *, is_shared: bool) -> bool:
    """Return whether a table is the same, and still has a version.

    If it `is_shared`, other pipelines remove its files, though the log still has the version.
    """
    table = DeltaTable.open(storage, own.path)
    if table is None or table.snapshot.metadata.table_id != own.generation:
        return False
    if table.snapshot.version == own.version:
        return True
    listing = Log(storage, own.path).list()
    replaced_ms = listing.commits.get(own.version + 1)
    if is_shared and replaced_ms is not None:
        kept_ms = Retention.of(own.path, table.snapshot.configuration).versions
        if replaced_ms < now() - kept_ms:
            return False
    before = [
        parts.version
        for parts in listing.checkpoints.values()
        if parts.complete and parts.version <= own.version
    ]
    first = max(before, default=-1) + 1
    return all(version in listing.commits for version in range(first, own.version + 1))
