"""The schemas of the schema topic, and their history.

A schema record is committed in the same Kafka transaction as the first row that uses it. But the
commit marker reaches each partition at a different time, so for a moment the row may be visible
before its schema record. So the job waits for a missing id before it raises an error.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from connector.contract import row_topic
from connector.errors import MirrorError, mirror
from stream_jobs.kafka_source import read_schema_values, schema_topic
from stream_jobs.table_schema import TableSchema

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import SparkSession

    from connector.contract import SchemaColumn
    from stream_jobs.settings import KafkaSettings

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.5


class SchemaRegistry:
    """All schemas of all tables; read again for each unknown id."""

    def __init__(self, kafka: KafkaSettings, wait_seconds: float = WAIT_SECONDS) -> None:
        """Begin without a schema."""
        self._kafka = kafka
        self._wait_seconds = wait_seconds
        self._schemas: dict[str, dict[str, TableSchema]] = {}

    def require(
        self, session: SparkSession, needed: Collection[tuple[str, str]]
    ) -> dict[tuple[str, str], TableSchema]:
        """Return the schema of each (topic, schema id) in `needed`.

        Raises MirrorError if one does not appear in time, or if a schema record cannot be read.
        """
        deadline = time.monotonic() + self._wait_seconds
        while missing := self._missing(needed):
            if time.monotonic() >= deadline:
                topic, schema_id = min(missing)
                raise MirrorError(
                    mirror.SCHEMA_MISSING,
                    topic=topic,
                    schema=schema_id,
                    schema_topic=schema_topic(self._kafka.topic_prefix),
                    seconds=self._wait_seconds,
                )
            self._read(session)
            if self._missing(needed):
                time.sleep(POLL_SECONDS)
        return {(topic, schema_id): self._schemas[topic][schema_id] for topic, schema_id in needed}

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

    def _missing(self, needed: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        return [each for each in needed if each[1] not in self._schemas.get(each[0], {})]

    def _read(self, session: SparkSession) -> None:
        for value in read_schema_values(session, self._kafka):
            try:
                schema = TableSchema.decode(value)
            except (ValueError, KeyError, TypeError) as error:
                # The text of the error may contain values of the record.
                raise MirrorError(
                    mirror.SCHEMA_RECORD,
                    topic=schema_topic(self._kafka.topic_prefix),
                    why=type(error).__name__,
                ) from error
            topic = row_topic(self._kafka.topic_prefix, schema.database, schema.table)
            # If an id was published twice, its first record says when it began.
            self._schemas.setdefault(topic, {}).setdefault(schema.schema_id, schema)
