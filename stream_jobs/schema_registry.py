"""The schemas of the schema topic, and their history.

A schema record is committed in the same Kafka transaction as the first row that uses it. But the
commit marker reaches each partition at a different time, so for a moment the row may be visible
before its schema record. So the job waits for a missing id before it raises an error.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from connector.contract import row_topic
from connector.errors import MirrorError, mirror
from stream_jobs.source.ranges import OffsetRange, read_ranges
from stream_jobs.source.topics import schema_topic
from stream_jobs.table_schema import TableSchema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from connector.contract import SchemaColumn
    from stream_jobs.source.client import KafkaClient

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.1


class SchemaRegistry:
    """All schemas of all tables; new records of the topic are read for each unknown id."""

    def __init__(
        self, client: KafkaClient, prefix: str, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        """Begin without a schema."""
        self._client = client
        self._prefix = prefix
        self._wait_seconds = wait_seconds
        self._schemas: dict[str, dict[str, TableSchema]] = {}
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
                raise MirrorError(
                    mirror.SCHEMA_MISSING,
                    topic=topic,
                    schema=min(missing),
                    schema_topic=schema_topic(self._prefix),
                    seconds=self._wait_seconds,
                )
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
                mirror.SCHEMA_RECORD,
                topic=schema_topic(self._prefix),
                why=type(error).__name__,
            ) from error
        topic = row_topic(self._prefix, schema.database, schema.table)
        # If an id was published twice, its first record says when it began.
        self._schemas.setdefault(topic, {}).setdefault(schema.schema_id, schema)

    def history(self, topic: str) -> list[TableSchema]:
        """Return the schemas of `topic` that have been read, oldest first."""
        return sorted(self._schemas.get(topic, {}).values(), key=lambda schema: schema.first)

    def defaults_between(
        self, topic: str, older: TableSchema, newer: TableSchema
    ) -> dict[str, SchemaColumn]:
        """Return the columns of `newer` that `older` lacks, each as in the schema that added it.

        Only that schema has the value of existing rows in the added column.
        """
        added: dict[str, SchemaColumn] = {}
        for schema in self.history(topic):
            if not older.first < schema.first <= newer.first:
                continue
            for column in schema.columns:
                name = column["name"]
                if name in newer.by_name and name not in older.by_name:
                    added.setdefault(name, column)
        return added

    def _new_values(self) -> Iterator[bytes]:
        topic = schema_topic(self._prefix)
        count = self._client.partition_counts().get(topic, 0)
        partitions = [(topic, number) for number in range(count)]
        unread = [each for each in partitions if each[1] not in self._read_to]
        for (_, number), first in self._client.first_offsets(unread).items():
            self._read_to[number] = first
        ends = self._client.end_offsets(partitions)
        ranges = [
            OffsetRange(topic, number, self._read_to[number], end)
            for (_, number), end in sorted(ends.items())
        ]
        for each, columns in sorted(read_ranges(self._client, ranges), key=lambda piece: piece[0]):
            yield from (value for value in columns.values if value is not None)
            self._read_to[each.partition] = max(each.end, each.start)
