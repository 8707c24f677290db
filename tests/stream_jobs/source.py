"""A source table as the connector publishes it: records in the contract's shape, for tests."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zlib import crc32

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.consumer.fetcher import TopicPartition

from connector.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    HEADER_SEQ,
    HEADER_TXN,
    OP_CREATE,
    OP_DELETE,
    OP_TRUNCATE,
    OP_UPDATE,
    SchemaColumn,
    SchemaRecord,
    Sequence,
    row_topic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS = 2
SOURCE_TS_MS = 1_700_000_000_000

JsonRow = dict[str, Any]


def column(name: str, kind: str, *, key: int = 0, **facts: Any) -> SchemaColumn:
    """A column of a schema record; a key column is NOT NULL."""
    made: SchemaColumn = {
        "name": name,
        "type": kind,
        "nullable": facts.pop("nullable", not key),
        "key": key,
    }
    made.update(facts)  # type: ignore[typeddict-item] # the facts of the contract, by name
    return made


class Kafka:
    """The topics of one test: a transactional producer and the next sequence."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix
        self._position = 0
        self._topics: set[str] = set()
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=f"test-{prefix}",
            retry_backoff_ms=5,
            metadata_max_age_ms=500,
        )
        self._producer.init_transactions()

    def close(self) -> None:
        self._producer.close()
        self._admin.close()

    def next_sequence(self) -> Sequence:
        """The sequence of the next source transaction."""
        self._position += 100
        return Sequence(1, 7, self._position, 3, 0)

    def add_topic(self, topic: str, partitions: int = PARTITIONS) -> None:
        if topic not in self._topics:
            self._topics.add(topic)
            self._admin.create_topics(
                {topic: {"num_partitions": partitions, "replication_factor": 1}}
            )

    def add_partition(self, topic: str) -> None:
        self._admin.create_partitions({topic: PARTITIONS + 1})
        while PARTITIONS not in self._producer.partitions_for(topic):
            time.sleep(0.1)

    @contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        """Records sent inside are committed together, or aborted."""
        self._producer.begin_transaction()
        yield
        self._producer.flush()
        if commit:
            self._producer.commit_transaction()
        else:
            self._producer.abort_transaction()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: dict[str, str],
        partition: int | None = None,
    ) -> None:
        if partition is None:
            partition = crc32(key or b"") % PARTITIONS
        self._producer.send(
            topic,
            key=key,
            value=value,
            headers=[(name, text.encode()) for name, text in headers.items()],
            partition=partition,
        )

    def end_offsets(self, topic: str) -> dict[str, int]:
        """The read_committed end of each partition, when no transaction is open."""
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        offsets = self._admin.list_partition_offsets(dict.fromkeys(partitions, -1))
        return {str(each.partition): found.offset for each, found in offsets.items()}


@dataclass(frozen=True)
class SourceTable:
    """A table whose changes are published; each method publishes one change, in a transaction."""

    kafka: Kafka
    name: str
    columns: tuple[SchemaColumn, ...]
    database: str = "shop"

    @property
    def topic(self) -> str:
        return row_topic(self.kafka.prefix, self.database, self.name)

    @property
    def schema_id(self) -> str:
        facts = [{k: v for k, v in c.items() if not k.startswith("added_")} for c in self.columns]
        return sha256(json.dumps([self.database, self.name, facts]).encode()).hexdigest()[:16]

    @property
    def key_names(self) -> list[str]:
        keyed = sorted((c["key"], c["name"]) for c in self.columns if c["key"])
        return [name for _, name in keyed]

    def create(self) -> SourceTable:
        """Publish the schema record."""
        self.kafka.add_topic(self.topic)
        self.kafka.add_topic(f"{self.kafka.prefix}.schema", 1)
        with self.kafka.transaction():
            self.send_schema()
        return self

    def alter(self, *columns: SchemaColumn) -> SourceTable:
        """The table with another column list, published."""
        return replace(self, columns=columns).create()

    def send_schema(self) -> None:
        record: SchemaRecord = {
            "schema_id": self.schema_id,
            "database": self.database,
            "table": self.name,
            "seq": str(self.kafka.next_sequence()),
            "columns": list(self.columns),
        }
        self.kafka.send(
            f"{self.kafka.prefix}.schema",
            f"{self.database}.{self.name}/{self.schema_id}".encode(),
            json.dumps(record).encode(),
            {},
            partition=0,
        )

    def insert(self, *rows: JsonRow) -> None:
        with self.kafka.transaction():
            for row in rows:
                self.send(OP_CREATE, None, row)

    def update(self, before: JsonRow, after: JsonRow) -> None:
        with self.kafka.transaction():
            if self.key(before) == self.key(after):
                self.send(OP_UPDATE, before, after)
                return
            seq = self.kafka.next_sequence()
            self.send(OP_DELETE, before, None, seq)
            self.send(OP_CREATE, None, after, replace(seq, row=1))

    def delete(self, *rows: JsonRow) -> None:
        with self.kafka.transaction():
            for row in rows:
                self.send(OP_DELETE, row, None)

    def truncate(self, *, partition: int = 0) -> None:
        with self.kafka.transaction():
            self.send(OP_TRUNCATE, None, None, partition=partition)

    def key(self, row: JsonRow | None) -> bytes | None:
        if row is None or not self.key_names:
            return None
        values = {name: row[name] for name in self.key_names}
        return json.dumps(values, separators=(",", ":")).encode()

    def send(
        self,
        op: str,
        before: JsonRow | None,
        after: JsonRow | None,
        seq: Sequence | None = None,
        *,
        headers: dict[str, str | None] | None = None,
        value: bytes | None = None,
        partition: int | None = None,
    ) -> None:
        """Send a row record, and its tombstone; `headers` and `value` replace the right ones."""
        envelope = {
            "before": before,
            "after": after,
            "source": {"db": self.database, "table": self.name, "ts_ms": SOURCE_TS_MS},
            "op": op,
            "ts_ms": SOURCE_TS_MS + 5,
        }
        given: dict[str, str | None] = {
            HEADER_SEQ: str(seq or self.kafka.next_sequence()),
            HEADER_OP: op,
            HEADER_SCHEMA: self.schema_id,
            HEADER_TXN: "uuid:1",
            **(headers or {}),
        }
        sent = {name: text for name, text in given.items() if text is not None}
        key = self.key(before if op == OP_DELETE else after)
        text = value if value is not None else json.dumps(envelope).encode()
        self.kafka.send(self.topic, key, text, sent, partition)
        if op == OP_DELETE and key is not None:
            self.kafka.send(self.topic, key, None, sent, partition)
