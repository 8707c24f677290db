"""An overview of all tables of a mirror, without Spark and without the job.

The tables are those of the schema topic, and those that are set aside.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

import orjson

from stream_jobs.cuts.state_topics import SnapshotTopic
from stream_jobs.delta.log import Log
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.metadata import current_id, readable_until
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings
from stream_jobs.source.backlog import kept_until, oldest_pending_time
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.requests import Partition
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.batch_report import TableState
from stream_jobs.tables.merged_table import MergedTables
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.topic_state import path_in

CURRENT: Final = "current"
WAITING: Final = "records wait"
NO_MIRROR: Final = "no mirror"
NO_KEY: Final = "no key"
SKIPPED: Final = "skipped"
LOADING: Final = "being loaded"
SET_ASIDE: Final = "set aside"
RESUMING: Final = "to be resumed"
UNREADABLE: Final = "unreadable"

# A table is late if a record has waited longer: the connector takes mirrors for lagging then.
LATE_SECONDS: Final = 60.0
# Tables that are looked at together.
_THREADS: Final = 16


@dataclass(slots=True)
class TableStatus:
    """One table; None where nothing is known."""

    table: str  # `database.table`, or the topic if that is not known
    topic: str
    state: str  # one of the above
    mode: str | None = None
    version: int | None = None
    rows: int | None = None
    files: int | None = None
    dead_rows: int | None = None
    bytes: int | None = None
    last_commit: str | None = None  # ISO 8601, UTC
    last_change: str | None = None  # when the source committed it
    waiting: int | None = None  # about the records that are not applied, with Kafka's markers
    waiting_since: str | None = None  # when the connector wrote the oldest of them
    # By partition, everything before these offsets is in the mirror; None without a mirror.
    offsets: Mapping[int, int] | None = None
    # If the table is set aside, or its mirror cannot be read.
    since: str | None = None
    code: str | None = None
    reason: str | None = None
    partition: int | None = None
    offset: int | None = None
    # Whether Kafka has deleted records that the mirror lacks.
    lost: bool = False
    # Of a table that is an Iceberg table, too: the version that is published; and, if another one
    # cannot be published, since when and why. If the format was switched off: until when that
    # version can be read at least.
    iceberg_version: int | None = None
    iceberg_until: str | None = None
    iceberg_since: str | None = None
    iceberg_code: str | None = None
    iceberg_reason: str | None = None
    # Until when it keeps them at least, if the table is set aside and that is known.
    kept_until: str | None = None

    def is_late(self, now: float) -> bool:
        """Return whether records wait for more than a minute."""
        since = self.waiting_since
        return since is not None and now - datetime.fromisoformat(since).timestamp() > LATE_SECONDS

    @property
    def is_fine(self) -> bool:
        """Whether the job can go on with the table."""
        return self.state not in (SET_ASIDE, RESUMING, UNREADABLE) and not self.lost


class _Offsets:
    """The first and the last offsets of all topics that are looked at."""

    def __init__(self, client: KafkaClient, topics: set[str]) -> None:
        self._client = client
        counts = client.partition_counts()
        every = [(topic, n) for topic in sorted(topics) for n in range(counts.get(topic, 0))]
        self._first: dict[str, dict[int, int]] = {}
        self._ends: dict[str, dict[int, int]] = {}
        for (topic, number), offset in client.first_offsets(every).items():
            self._first.setdefault(topic, {})[number] = offset
        for (topic, number), offset in client.end_offsets(every).items():
            self._ends.setdefault(topic, {})[number] = offset

    def needed(self, topic: str, applied: Mapping[int, int]) -> dict[Partition, int]:
        """Return the first record of each partition that is not applied, and is there."""
        first, ends, begun = self._of(topic, applied)
        return {
            (topic, number): offset
            for number, offset in begun.items()
            if first[number] <= offset < ends[number]
        }

    def fill(self, status: TableStatus, applied: Mapping[int, int]) -> None:
        """Fill in what is not applied, if what is before `applied` is."""
        first, ends, begun = self._of(status.topic, applied)
        status.waiting = sum(max(0, end - begun[number]) for number, end in ends.items())
        status.lost = any(begun[number] < offset for number, offset in first.items())
        if not status.waiting:
            return
        topic = status.topic
        there = {(topic, number): max(at, first[number]) for number, at in begun.items()}
        oldest = oldest_pending_time(
            self._client, there, {place: ends[place[1]] for place in there}
        )
        status.waiting_since = _time(oldest)
        if oldest is None and not status.lost:
            # What is left are markers of Kafka, and records that were rolled back.
            status.waiting = 0

    def _of(
        self, topic: str, applied: Mapping[int, int]
    ) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
        """Return by partition the first offset, the end, and the first that is not applied."""
        first, ends = self._first.get(topic, {}), self._ends.get(topic, {})
        begun = {number: applied.get(number, offset) for number, offset in first.items()}
        return first, ends, begun


class Overview:
    """Looks at all tables of one pipeline."""

    def __init__(self, settings: Settings, storage: Storage, client: KafkaClient) -> None:
        """Look at the mirrors in `storage`, and at the topics of `client`.

        Raises MirrorError if the storage fails.
        """
        self._base = settings.mirror.path
        self._folder = folder_of(settings)
        self._facts = settings.kafka.facts()
        # Of tables that are set aside: the records that Kafka must keep.
        self._needed: dict[Partition, int] = {}
        self._storage = storage
        self._files = TableFiles(storage, reader_uri(self._base))
        self._published = PublicationRecord()
        # Whether there may be Iceberg tables of earlier settings.
        self._has_older = False
        self._client = client
        self._choices = TableOptionsResolver.of_settings(settings)
        prefix = settings.kafka.topic_prefix
        self._registry = SchemaRegistry(client, prefix, choices=self._choices)
        self._copies = SnapshotTopic(client, prefix)
        # Shards have one log, which is read once.
        self._merged = MergedTables(storage)
        # By (database, table), the loads that stand for copies.
        self._loads: dict[tuple[str, str], str] = {}

    def tables(self, pattern: str = "*") -> list[TableStatus]:
        """Return the tables whose `database.table` fits `pattern`, by name.

        Raises MirrorError if Kafka or the storage fail.
        """
        self._registry.refresh()
        self._loads = self._copies.loads()
        aside = QuarantineFiles(*self._folder)
        records, requests = aside.records(), aside.requests()
        if self._choices.is_iceberg:
            own = PublicationRecord.read(*self._folder)
            self._published = own or self._published
        self._has_older = PublicationRecord.is_there(self._folder.storage)
        topics = {
            topic
            for topic in {*self._registry.topics(), *records}
            if fnmatchcase(self._name(topic, records.get(topic)), pattern)
        }
        offsets = _Offsets(self._client, topics)

        def look(topic: str) -> TableStatus:
            record = records.get(topic)
            status = self._of(topic, record, offsets)
            if record is not None:
                _note_reason(status, record)
                request = requests.get(topic)
                if request is not None and request.number == record.number:
                    status.state = RESUMING
            return status

        with ThreadPoolExecutor(_THREADS) as pool:
            statuses = list(pool.map(look, sorted(topics)))
        until = kept_until(self._facts, self._client, self._needed)
        for status in statuses:
            status.kept_until = _time(until.get(status.topic))
        return sorted(statuses, key=lambda status: status.table)

    def _name(self, topic: str, record: QuarantinedTable | None) -> str:
        history = self._registry.history(topic)
        return history[-1].name if history else topic if record is None else record.table

    def _of(self, topic: str, record: QuarantinedTable | None, offsets: _Offsets) -> TableStatus:
        history = self._registry.history(topic)
        status = TableStatus(topic, topic, NO_MIRROR)
        begun = {} if record is None else record.begun
        own = None
        if history:
            schema = history[-1]
            status.table = schema.name
            status.mode = self._choices.of(schema.database, schema.table).mode
            if schema.chosen.is_skipped and record is None:
                status.state = SKIPPED
                return status
            own = self._opened(schema, status)
        if own is not None:
            self._describe(own, status)
            if self._choices.has_iceberg(history[-1].database, history[-1].table):
                self._describe_iceberg(own, status, history[-1].mirror_name)
            elif self._has_older:
                self._describe_older(own, status)
            begun = status.offsets = own.progress.offsets
        elif history and not history[-1].key and record is None:
            status.state = NO_KEY
            return status
        offsets.fill(status, begun)
        if record is not None:
            self._needed |= offsets.needed(topic, begun)
        if own is not None:
            status.state = WAITING if status.waiting else CURRENT
        if status.state != UNREADABLE and history and self._is_loading(history[-1], own):
            status.state = LOADING
        return status

    def _is_loading(self, schema: TableSchema, own: MirrorTable | None) -> bool:
        """Return whether the first rows of a table are to come from the source, and have not."""
        wanted = self._loads.get((schema.database, schema.table))
        load = None if own is None else own.progress.load
        return wanted is not None and (load is None or not load.is_complete(wanted))

    def _opened(self, schema: TableSchema, status: TableStatus) -> MirrorTable | None:
        try:
            path, shard = path_in(self._storage, schema), schema.chosen.shard
            merged = None if shard is None else self._merged.at(path)
            return MirrorTable.open(self._storage, path, schema.name, self._base, shard, merged)
        except MirrorError as error:
            status.state, status.code, status.reason = UNREADABLE, error.code.code, error.text
            return None

    def _describe(self, own: MirrorTable, status: TableStatus) -> None:
        snapshot = own.delta.snapshot
        state = TableState.of(snapshot)
        status.version, status.rows, status.dead_rows = state.version, state.rows, state.dead_rows
        status.files, status.bytes = state.files, state.bytes
        content = Log(self._storage, own.delta.path).read(snapshot.version)
        if content is not None:
            first = orjson.loads(content.split(b"\n", 1)[0])
            status.last_commit = _time(first.get("commitInfo", {}).get("timestamp"))
        status.last_change = _time(own.progress.source_ts_ms)

    def _describe_iceberg(self, own: MirrorTable, status: TableStatus, name: str) -> None:
        problem = self._published.problems.get(name)
        if problem is not None:
            status.iceberg_since, status.iceberg_code = problem.since, problem.code
            status.iceberg_reason = problem.error
        try:
            head = self._files.load(own.delta.path)
        except MirrorError as error:
            status.iceberg_code, status.iceberg_reason = error.code.code, error.text
        else:
            status.iceberg_version = None if head is None else current_id(head.metadata)

    def _describe_older(self, own: MirrorTable, status: TableStatus) -> None:
        """Describe what was published before the format was switched off."""
        snapshot, path = own.delta.snapshot, own.delta.path
        try:
            head = self._files.load(path)
            if head is None or not self._files.is_of(path, head, snapshot.metadata.table_id):
                return
            until = readable_until(path, snapshot.configuration, head.metadata)
        except MirrorError as error:
            status.iceberg_code, status.iceberg_reason = error.code.code, error.text
            return
        status.iceberg_version = current_id(head.metadata)
        status.iceberg_until = _time(until)


def _note_reason(status: TableStatus, record: QuarantinedTable) -> None:
    status.state, status.since = SET_ASIDE, record.since
    status.code, status.reason = record.code, record.reason
    status.partition, status.offset = record.partition, record.offset


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
