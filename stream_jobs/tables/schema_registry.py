"""The schemas of the schema topic, and their history.

A schema record is committed in the same Kafka transaction as the first row that uses it, or as the
statement that says it. But the
commit marker reaches each partition at a different time, so for a moment the row may be visible
before its schema record. So the job waits for a missing id before it raises an error.
"""

import threading
import time
from collections.abc import Collection, Iterator

from connector.foundation.contract import SchemaColumn, row_topic
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.requests import Partition
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableSchema
from stream_jobs.source.topics import OffsetRange, schema_topic
from stream_jobs.tables.column_changes import fits_all_values
from stream_jobs.tables.table_options import TableOptionsResolver

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.1


class SchemaRegistry:
    """All schemas of all tables; new records of the topic are read for each unknown id."""

    def __init__(
        self,
        client: KafkaClient,
        prefix: str,
        wait_seconds: float = WAIT_SECONDS,
        *,
        choices: TableOptionsResolver | None = None,
    ) -> None:
        """Begin without a schema; `choices` make the column lists those of mirrors."""
        self._choices = choices
        self._client = client
        self.prefix = prefix
        self._wait_seconds = wait_seconds
        self._schemas: dict[str, dict[str, TableSchema]] = {}
        # By the place of a mirror: the tables that have it, each with its shard.
        self._tables_at: dict[tuple[str, str], dict[str, Shard | None]] = {}
        # By topic, the newest record: its sequence, the id, and whether a statement says the list.
        self._newest: dict[str, tuple[PackedSequence, str, bool]] = {}
        self._read_to: dict[int, int] = {}
        self._turn = threading.Lock()

    def require(self, topic: str, needed: Collection[str]) -> dict[str, TableSchema]:
        """Return the schemas of `topic` with the ids in `needed`.

        Raises MirrorError if one does not appear in time, or if a schema record cannot be read.
        """
        deadline = time.monotonic() + self._wait_seconds
        while missing := set(needed) - self._schemas.get(topic, {}).keys():
            self.refresh()
            if not set(needed) - self._schemas.get(topic, {}).keys():
                break
            if time.monotonic() >= deadline:
                names = {"topic": topic, "schema": min(missing)}
                names["schema_topic"] = schema_topic(self.prefix)
                if self._client.have_open_transactions(self._partitions()):
                    raise MirrorError(job_errors.SCHEMA_HELD_UP, **names)
                raise MirrorError(job_errors.SCHEMA_MISSING, **names, seconds=self._wait_seconds)
            time.sleep(POLL_SECONDS)
        return {schema_id: self._schemas[topic][schema_id] for schema_id in needed}

    def refresh(self) -> None:
        """Read the records that the topic has got.

        Raises MirrorError for a record that is no schema.
        """
        with self._turn:
            for value in self._new_values():
                self._add(value)

    def _add(self, value: bytes) -> None:
        try:
            schema = TableSchema.decode(value)
        except (ValueError, KeyError, TypeError) as error:
            # The text of the error may contain values of the record.
            raise MirrorError(
                job_errors.SCHEMA_RECORD,
                topic=schema_topic(self.prefix),
                why=type(error).__name__,
            ) from error
        topic = row_topic(self.prefix, schema.database, schema.table)
        known = self._schemas.setdefault(topic, {})
        record = schema.stated or schema.first, schema.schema_id, schema.stated is not None
        self._newest[topic] = max(self._newest.get(topic, record), record)
        # If an id was published twice, its first record says when it began.
        if schema.schema_id in known:
            return
        if self._choices is not None:
            older = [earlier for earlier in self.history(topic) if earlier.first < schema.first]
            schema = self._choices.applied(schema, older)
        known[schema.schema_id] = schema
        if not schema.chosen.is_skipped:
            self._tables_at.setdefault(schema.place, {})[schema.name] = schema.chosen.shard

    def others_at(self, schema: TableSchema) -> list[str]:
        """Return the other tables that claim the place of the mirror of `schema`, or its shard."""
        own = schema.chosen.shard
        return sorted(
            name
            for name, shard in self._tables_at.get(schema.place, {}).items()
            if name != schema.name and (own is None or shard is None or shard.value == own.value)
        )

    def are_shards(self, schema: TableSchema, others: Collection[str]) -> bool:
        """Return whether any of `others` wants to be a shard of the mirror of `schema`, too."""
        known = self._tables_at.get(schema.place, {})
        return any(known.get(name) is not None for name in others)

    def topics(self) -> list[str]:
        """Return the topics whose schemas have been read."""
        return list(self._schemas)

    def history(self, topic: str) -> list[TableSchema]:
        """Return the schemas of `topic` that have been read, oldest first."""
        return sorted(self._schemas.get(topic, {}).values(), key=lambda schema: schema.first)

    def newest(self, topic: str) -> TableSchema:
        """Return the column list of the newest record of a table, which has one."""
        return self._schemas[topic][self._newest[topic][1]]

    def stated(self, topic: str) -> tuple[PackedSequence, str] | None:
        """Return the newest column list of a table if a statement says it: its sequence and id."""
        newest = self._newest.get(topic)
        return None if newest is None or not newest[2] else newest[:2]

    def defaults_between(
        self, topic: str, older: TableSchema, newer: TableSchema
    ) -> dict[str, SchemaColumn]:
        """Return the columns of `newer` that `older` lacks, each as in the schema that added it.

        Only that schema has the value of existing rows in the added column. A column that was
        dropped in between is another one when it comes back, and so is one with a type that does
        not hold its values.
        """
        added: dict[str, SchemaColumn] = {}
        for schema in self.history(topic):
            if not older.first < schema.first <= newer.first:
                continue
            for name in newer.by_name.keys() - older.by_name.keys():
                column, known = schema.by_name.get(name), added.get(name)
                if column is None:
                    added.pop(name, None)
                elif known is None or not fits_all_values(column, known):
                    added[name] = column
        return added

    def _partitions(self) -> list[Partition]:
        return self._client.partitions(schema_topic(self.prefix))

    def _new_values(self) -> Iterator[bytes]:
        topic = schema_topic(self.prefix)
        partitions = self._partitions()
        unread = [partition for partition in partitions if partition[1] not in self._read_to]
        for (_, number), first in self._client.first_offsets(unread).items():
            self._read_to[number] = first
        ends = self._client.end_offsets(partitions)
        ranges = [
            OffsetRange(topic, number, self._read_to[number], end)
            for (_, number), end in sorted(ends.items())
        ]
        for span, columns in sorted(self._client.read_ranges(ranges), key=lambda piece: piece[0]):
            yield from (value for value in columns.values if value is not None)
            self._read_to[span.partition] = max(span.end, span.start)
