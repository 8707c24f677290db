"""A source table as the connector publishes it: records in the contract's shape, for tests."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zlib import crc32

from kafka import IsolationLevel, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.consumer.fetcher import TopicPartition
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from connector.foundation.contract import (
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
from connector.kafka.kafka_python import network_client

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


PARTITIONS = 2
SOURCE_TS_MS = 1_700_000_000_000
_SETTLE_SECONDS = 2.0

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

    def __init__(self, bootstrap: str, prefix: str, producer: str = "") -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix
        self._position = 0
        self._topics: set[str] = set()
        # Where transactions may have ended whose end the broker has not written yet.
        self._ended: set[TopicPartition] = set()
        clients = {"bootstrap_servers": bootstrap, "kafka_client": network_client}
        self._admin = KafkaAdminClient(**clients)
        self._producer = KafkaProducer(
            **clients,
            transactional_id=f"test-{prefix}{producer}",
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
            try:
                self._admin.create_topics(
                    {topic: {"num_partitions": partitions, "replication_factor": 1}}
                )
            except TopicAlreadyExistsError:
                # The client asks once more if the broker's first answer came too late.
                (made,) = self._admin.describe_topics([topic])
                if len(made["partitions"]) != partitions:
                    raise
            # Kafka says that a topic exists before each of its partitions has a leader.
            self._admin.wait_for_topics([topic])

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with its records."""
        # As for `create_topics`: asked once more, the broker knows no such topic.
        with suppress(UnknownTopicOrPartitionError):
            self._admin.delete_topics([topic])
        self._topics.discard(topic)
        self._ended = {each for each in self._ended if each.topic != topic}
        while topic in self._admin.list_topics():
            time.sleep(0.1)

    def make_again(self, topic: str) -> None:
        """Delete a topic with its records, and create it."""
        self.delete_topic(topic)
        self.add_topic(topic)

    def keep_for(self, topic: str, span: timedelta) -> None:
        """Let the brokers delete records of this age; they keep those of other topics for ever."""
        retention = {"retention.ms": str(span // timedelta(milliseconds=1))}
        self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, retention)])

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

    def settle(self) -> None:
        """Wait until the broker has written the ends of all transactions to their topics.

        It answers a commit before that, and a reader of committed records then sees none of it. A
        transaction that another producer has open is not waited for.
        """
        deadline = time.monotonic() + _SETTLE_SECONDS
        while self._ended and time.monotonic() < deadline:
            committed = self._offsets(self._ended, IsolationLevel.READ_COMMITTED)
            if committed == self._offsets(self._ended):
                break
            time.sleep(0.02)
        self._ended.clear()

    def progress(self, name: str = "shop", **facts: Any) -> Sequence:
        """Publish how far the topics are, as the end of each transaction of the connector.

        Inside of `transaction`, it belongs to that. Returns what no change before it reaches.
        """
        self.add_topic(f"{self.prefix}.progress", 1)
        position = self._position + 50
        record = {
            "flavour": "mysql",
            "gtid_set": f"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-{position}",
            "file": "binlog.000007",
            "position": position,
            "epoch": 1,
            "between": 0,
            "cascaded_rows": {},
            **facts,
        }
        self.send(
            f"{self.prefix}.progress", name.encode(), json.dumps(record).encode(), {}, partition=0
        )
        return Sequence(1, 7, position - 1, 0, 0)

    def flush(self) -> None:
        """Wait until the brokers have what was sent."""
        self._producer.flush()

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
        self._ended.add(TopicPartition(topic, partition))
        self._producer.send(
            topic,
            key=key,
            value=value,
            headers=[(name, text.encode()) for name, text in headers.items()],
            partition=partition,
        )

    def end_offsets(self, topic: str) -> dict[str, int]:
        """The end of each partition, when no transaction is open."""
        self.settle()
        found = self._offsets([TopicPartition(topic, number) for number in range(PARTITIONS)])
        return {str(each.partition): offset for each, offset in found.items()}

    def _offsets(
        self,
        partitions: Iterable[TopicPartition],
        level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, int]:
        found = self._admin.list_partition_offsets(dict.fromkeys(partitions, -1), level)
        return {each: place.offset for each, place in found.items()}


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

    def state(self, *columns: SchemaColumn) -> SourceTable:
        """The table with a column list that its statement says, published without rows."""
        stated = replace(self, columns=columns)
        with self.kafka.transaction():
            stated.send_schema(is_stated=True)
        return stated

    def send_schema(self, *, is_stated: bool = False) -> None:
        record: SchemaRecord = {
            "schema_id": self.schema_id,
            "database": self.database,
            "table": self.name,
            "seq": str(self.kafka.next_sequence()),
            "columns": list(self.columns),
        }
        if is_stated:
            record["stated"] = record["seq"]
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
        ts_ms: int = SOURCE_TS_MS,
    ) -> None:
        """Send a row record, and its tombstone; `headers` and `value` replace the right ones."""
        envelope = {
            "before": before,
            "after": after,
            "source": {"db": self.database, "table": self.name, "ts_ms": ts_ms},
            "op": op,
            "ts_ms": ts_ms + 5,
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
        text = value if value is not None else _compact(envelope)
        self.kafka.send(self.topic, key, text, sent, partition)
        if op == OP_DELETE and key is not None:
            self.kafka.send(self.topic, key, None, sent, partition)


def _compact(envelope: JsonRow) -> bytes:
    """Return JSON without spaces, as the connector writes it."""
    return json.dumps(envelope, separators=(",", ":")).encode()
