"""Publishes the tables of a running job to Iceberg, beside its batches.

    driver    after each batch: these versions are new, and here is a cut
    thread    every few seconds: publishes the newest versions, at the newest cut if there is one

*Versions.* A snapshot of a Delta table never changes, so the thread takes what the driver leaves,
and the driver never waits. Tables without a new version cost nothing. At its start, the thread
looks once at all tables: another process, or earlier settings, may have left one unpublished.

*Cuts.* At a cut, each table is published in the version of the cut, and gets its tag. Tables that
have not changed get it, too; if there are so many that this takes long, they do not get it at each
cut, but at the last one before nothing changes any more. Only a cut whose tag all tables have can
be read by its name. The last cut of a process that died gets its tag in the next one, whose source
may rest.

*Files.* Delta's upkeep deletes files for the time of the last publication, not for now. So what is
published can be read, also if publishing fails for days.

*Catalog.* If there is one, it gets what has been published by path, in a thread of its own
(`catalog_queue.py`). Neither the tables by path nor cuts wait for it.

*Shared.* Other pipelines publish the same tables. What they have published is not published again,
and each has tags of its own. A snapshot stands for the commits of all, so none is a mere rewrite.

*Failures.* A table that cannot be published is tried again with the next ones, and nothing else
waits for it. If Iceberg cannot have it, it is tried again when it has changed.
"""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from connector.foundation.errors.message import Message
from stream_jobs.apply.table_failures import DEFECT_TYPES, table_defect
from stream_jobs.cuts.cut import Cut, CutTable
from stream_jobs.delta.log import Log, now
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import iceberg_errors
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.cut_tags import CutTags
from stream_jobs.iceberg.metadata import current_id, partition_spec, published_ms, tags
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.record import PublicationRecord, TableProblem
from stream_jobs.iceberg.table_files import TableFiles
from stream_jobs.run.catalog_queue import TAGGING_SHARE, CatalogQueue
from stream_jobs.run.job_state import Ownership
from stream_jobs.run.publication_queue import PublicationQueue, Version
from stream_jobs.run.published_tables import PublishedTables
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.maintenance import ChangedTable
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.topic_state import path_in


class PublicationLimits(NamedTuple):
    """How much is kept, and done at once."""

    snapshots: int  # of each table
    cuts_ms: int  # how long a cut can be read
    threads: int


class IcebergPublication:
    """What is to be published, and what is."""

    def __init__(
        self,
        services: MirrorContext,
        choices: TableOptionsResolver,
        limits: PublicationLimits,
        files: TableFiles,
        catalog: CatalogPublisher | None = None,
        ownership: Ownership | None = None,
        last_cut: Cut | None = None,
    ) -> None:
        """Publish the mirrors of `services` for which `choices` want it, to `files` and `catalog`.

        `ownership` is the claim of this process, and `last_cut` the newest one of an earlier run,
        if its versions are there. Raises MirrorError if the record of that run cannot be read.
        """
        self._services = services
        self.tables = PublishedTables(services.registry, choices)
        self._limits = limits
        self._files = files
        self._catalog = catalog
        self._ownership = ownership
        owner = None if ownership is None else ownership.owner
        self._tags = CutTags(owner.prefix if owner is not None and owner.shared else None)
        self._written = PublicationRecord.read(*services.folder)
        self._record = (self._written or PublicationRecord()).with_tags(self._tags)
        self._newest_cut = max(self._record.cuts, default=0)
        self.queue = PublicationQueue()
        # What the catalog has refused at the start, though no table needs it now.
        self.restriction: Message | None = None
        # None without a catalog.
        self._catalog_queue = (
            None
            if catalog is None
            else CatalogQueue(catalog, self.queue, limits.threads, self._is_current)
        )
        # For the thread alone, by path.
        self._publishers: dict[str, TablePublisher] = {}
        # Tables that were not looked at yet; None before the first turn.
        self._older: list[TableSchema] | None = None
        self._tagged_at = 0.0
        self._tag_seconds = 0.0
        # The newest cut, until all tables have its tag that can get it.
        is_left = last_cut is not None and last_cut.number not in self._record.cuts
        self._untagged = last_cut if is_left else None
        # When the last version was published, milliseconds since 1970.
        self._published_ms: dict[str, int] = {}

    def note(
        self, tables: Iterable[ChangedTable], cut: Cut | None = None, *, is_rewrite: bool = False
    ) -> None:
        """Note that `tables` may have new versions, and that all tables have come to a cut.

        If `is_rewrite`, they have the same rows as before.
        """
        versions = (
            (table.mirror.delta.path, schema, table.mirror.delta.whole.snapshot)
            for table in tables
            if (schema := self.tables.schema(table.topic)) is not None
        )
        # Other pipelines may have changed rows since the last version.
        is_rewrite = is_rewrite and not self._files.is_shared
        self.queue.note(versions, cut, is_rewrite=is_rewrite)

    def kept_since(self, table: ChangedTable, at: int) -> int:
        """Return the time before `at` for which Delta's files are needed, as the time of a cleanup.

        Both are milliseconds since 1970. Raises MirrorError if the storage fails.
        """
        schema, path = self.tables.schema(table.topic), table.mirror.delta.path
        if schema is None:
            return at
        if self.queue.is_refused(schema):
            return at
        # What is published may have come from another pipeline.
        published = None if self._files.is_shared else self._published_ms.get(path)
        kept = None if self._catalog is None else self._catalog.states.kept(path)
        if kept is not None:
            # Readers of a catalog that lags see an earlier version.
            at = min(at, kept.at)
        if published is None:
            try:
                head = self._files.load(path)
            except MirrorError as error:
                if error.code is iceberg_errors.FOREIGN:
                    return at
                raise
            published = at if head is None else published_ms(head.metadata)
        return min(at, published)

    def publish(self) -> None:
        """Publish what is new; after an error of the machine, the next call looks at all tables."""
        older = self._publish_by_path()
        if self._catalog_queue is not None:
            self._catalog_queue.go_on()
        self._write_record()
        self._older = older

    def _publish_by_path(self) -> list[TableSchema] | None:
        """Publish what is new, and return the older tables of the next turn."""
        older, self._older = self._older, None
        older = self._publish_older(older)
        versions, cut = self.queue.take()
        if cut is not None:
            # Whatever ends this turn, a later one tags it.
            self._untagged = cut
        elif not versions and self._has_time_to_tag():
            cut = self._untagged
        if versions or cut is not None:
            self._publish_newest(versions, cut)
        return older

    def finish(self) -> None:
        """Publish the newest cut, and then what has come after it; also to the catalog."""
        for _ in range(2):
            self._older = self._publish_by_path()
        if self._untagged is not None:
            # The next process may find a source that rests, and so no cut to tag.
            self._tag_seconds = 0.0
            self._older = self._publish_by_path()
        # Once: a catalog that does not answer is not asked in each turn.
        if self._catalog_queue is not None:
            self._catalog_queue.go_on(is_last=True)
        self._write_record()

    def stop(self) -> None:
        """Let a catalog have nothing more, after the last turn."""
        if self._catalog_queue is not None:
            self._catalog_queue.stop()

    def _is_current(self) -> bool:
        return self._ownership is None or self._ownership.is_current()

    def _publish_newest(self, versions: Mapping[str, Version], cut: Cut | None) -> None:
        occasion = self._occasion(cut)
        with ThreadPoolExecutor(self._limits.threads) as pool:
            published = pool.map(
                lambda item: self._publish(item[0], item[1], occasion, cut), versions.items()
            )
            # What has failed comes first in the next turns: the others get the tag after that.
            is_due = all(list(published)) and self._has_time_to_tag()
            is_tagged = False
            if cut is not None and is_due:
                is_tagged = self._tag_others(cut, versions, occasion, pool)
            if not is_tagged:
                # Tables may have this tag, which is not for reading, and lack one that it replaced.
                before = self._record.cuts
                occasion = occasion._replace(
                    cuts={n: at for n, at in occasion.cuts.items() if n in before}
                )
        self._record = replace(self._record, cuts=dict(occasion.cuts))

    def _occasion(self, cut: Cut | None) -> Occasion:
        """Return the present one: all tables have come to `cut`, if there is one."""
        if cut is None:
            return Occasion(now(), cuts=self._kept_cuts(None), newest_cut=self._newest_cut)
        self._newest_cut = max(self._newest_cut, cut.number)
        facts = _facts(cut)
        if self._tags.prefix is not None:
            facts["cdc.prefix"] = self._tags.prefix
        cuts = self._kept_cuts(cut)
        return Occasion(now(), facts, cut.number, cuts, newest_cut=self._newest_cut)

    def _publish_older(self, older: list[TableSchema] | None) -> list[TableSchema] | None:
        """Publish what no batch of this process has changed; return what is to be tried again.

        None stands for all tables.
        """
        if older is None:
            try:
                self._services.registry.refresh()
            except MirrorError:
                # Batches meet the same, and tell it.
                return None
            # Readers must not take older cuts for some that have the tags of now.
            self._write_record()
            older = self.tables.schemas()
        if not older:
            return older
        occasion = self._occasion(None)
        with ThreadPoolExecutor(self._limits.threads) as pool:
            done = pool.map(lambda schema: self._publish_mirror(schema, occasion), older)
            return [schema for schema, is_done in zip(older, done, strict=True) if not is_done]

    def _publish_mirror(self, schema: TableSchema, occasion: Occasion) -> bool:
        """Publish the newest version of a table that no batch has changed.

        Returns False if it is to be tried again; a version that fails waits in the queue.
        """
        storage = self._services.storage
        try:
            path = path_in(storage, schema)
            is_newest = self._is_newest(path)
            if is_newest and (self._catalog is not None or schema.name in self.queue.problems):
                self._note_published(path, schema)
            table = None if is_newest else DeltaTable.open(storage, path)
        except MirrorError as error:
            return self.queue.failed(schema, error)
        except DEFECT_TYPES as error:
            return self.queue.failed(schema, table_defect(schema.name, error))
        if table is not None and not self.queue.has(path):
            version = Version(schema, table.snapshot, is_rewrite=False, since=time.time())
            self._publish(path, version, occasion)
            # It may never change again, and knows all of its files.
            self._publishers.pop(path, None)
        return True

    def _is_newest(self, path: str) -> bool:
        """Return whether readers of Iceberg see the newest version of a table."""
        head, log = self._files.load(path), Log(self._services.storage, path)
        return (
            head is not None
            and head.is_named
            and head.metadata.get("location") == self._files.location(path)
            and current_id(head.metadata) == log.list_newest().newest_version
            # Of several partition columns, an earlier version of the job may have exchanged values.
            and len(partition_spec(head.metadata)["fields"]) <= 1
        )

    def _publish(
        self, path: str, version: Version, occasion: Occasion, cut: Cut | None = None
    ) -> bool:
        """Publish one version; return whether it can be read at the cut, or never will."""
        schema, snapshot = version.schema, version.snapshot
        own = None if cut is None else cut.tables.get(schema.name)
        number = None
        generation = snapshot.metadata.table_id
        if own is not None and (own.version, own.generation) == (snapshot.version, generation):
            number = occasion.cut
        occasion = occasion._replace(cut=number, is_rewrite=version.is_rewrite)
        try:
            with self._held(path) as held:
                occasion = occasion._replace(held=held)
                head = self._publisher(path).publish(snapshot, occasion)
        except MirrorError as error:
            return self.queue.failed(schema, error, path, version)
        except DEFECT_TYPES as error:
            return self.queue.failed(schema, table_defect(schema.name, error), path, version)
        self._published_ms[path] = occasion.at
        self._note_published(path, schema, version.since)
        if own is None:
            return True
        return number is not None and tags(head.metadata).get(self._tags.of(number)) == own.version

    def _held(self, path: str) -> AbstractContextManager[frozenset[int]]:
        """Return the snapshots that a catalog has or may have, while others are published."""
        if self._catalog is None:
            return nullcontext(frozenset())
        return self._catalog.states.publishing(path)

    def _note_published(
        self,
        path: str,
        schema: TableSchema,
        since: float | None = None,
        *,
        is_only_tagged: bool = False,
    ) -> None:
        """Note that a table is published by its path; the catalog follows."""
        if self._catalog_queue is not None:
            self._catalog_queue.add(path, schema, since, is_only_tagged=is_only_tagged)
        self.queue.published(path, schema)

    def _publisher(self, path: str) -> TablePublisher:
        made = self._publishers.get(path)
        if made is None:
            made = TablePublisher(self._files, path, self._limits.snapshots, self._tags)
            self._publishers[path] = made
        return made

    def _has_time_to_tag(self) -> bool:
        return (time.monotonic() - self._tagged_at) * TAGGING_SHARE >= self._tag_seconds

    def _tag_others(
        self,
        cut: Cut,
        versions: Mapping[str, Version],
        occasion: Occasion,
        pool: ThreadPoolExecutor,
    ) -> bool:
        """Tag the tables that have not changed; return whether all have the tag of the cut."""
        began = time.monotonic()
        others = [
            (schema, cut.tables[schema.name])
            for schema in self.tables.schemas()
            if schema.name in cut.tables and cut.tables[schema.name].path not in versions
        ]
        done = list(pool.map(lambda item: self._tag(item[0], item[1], occasion, cut), others))
        self._tagged_at = time.monotonic()
        self._tag_seconds = self._tagged_at - began
        if not any(self.queue.has_failed(schema) for schema, _ in others):
            # What still lacks the tag has gone on, and never gets it.
            self._untagged = None
        return all(done)

    def _tag(self, schema: TableSchema, own: CutTable, occasion: Occasion, cut: Cut) -> bool:
        """Tag a table in the version of a cut; publish it if it is not."""
        if self.queue.is_refused(schema):
            return True
        try:
            if self._publisher(own.path).tag(own.version, own.generation, occasion):
                self._published_ms[own.path] = occasion.at
                self._note_published(own.path, schema, is_only_tagged=True)
                return True
            snapshot = Log(self._services.storage, own.path).load_version(own.version)
        except MirrorError as error:
            return self.queue.failed(schema, error)
        except DEFECT_TYPES as error:
            return self.queue.failed(schema, table_defect(schema.name, error))
        version = Version(schema, snapshot, is_rewrite=False, since=time.time())
        return self._publish(own.path, version, occasion, cut)

    def _kept_cuts(self, cut: Cut | None) -> dict[int, int]:
        """Return the cuts whose tags stay, and when each was written."""
        since = now() - self._limits.cuts_ms * 3 // 4
        cuts = {number: at for number, at in self._record.cuts.items() if at >= since}
        if cut is not None:
            cuts[cut.number] = cut.written_ms
        return dict(sorted(cuts.items())[-self._limits.snapshots :])

    def _write_record(self) -> None:
        before, at = self._record.problems, datetime.now(UTC).isoformat(timespec="seconds")
        problems = {}
        for name, message in self.queue.problems.items():
            code, known = message.shown_code.code, before.get(name)
            since = known.since if known is not None and known.code == code else at
            problems[name] = TableProblem(since, code, message.text)
        record = replace(self._record, problems=problems)
        if record == self._written:
            return
        with suppress(MirrorError):
            # It is written with the next change; batches meet the same error.
            if not self._is_current():
                # A newer process says which tags are there: it may have removed those of this one.
                return
            record.write(self._services.folder.storage)
            self._record = self._written = record


def _facts(cut: Cut) -> dict[str, str]:
    """Return what a snapshot says of its cut."""
    facts = {
        "cdc.cut": str(cut.number),
        "cdc.seq": cut.seq,
        "cdc.gtid": cut.position if cut.gtid is None else cut.gtid,
    }
    if cut.source_time_ms is not None:
        facts["cdc.source-time-ms"] = str(cut.source_time_ms)
    return facts
