"""Topics as the connector fills them, for the jobs that keep Delta tables: no source is needed.

*hot*: one table with a million copied rows, then five changes of each of many keys.
*many*: 100 tables of 500 rows, then about eleven changes of each table, again and again.
"""

from __future__ import annotations

import json
import random
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from connector.foundation.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    HEADER_SEQ,
    HEADER_TXN,
    SCHEMA_TOPIC_SUFFIX,
    Sequence,
    control_topic,
    row_topic,
)
from connector.foundation.kafka_records import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.contract import SchemaColumn

COLUMNS: list[SchemaColumn] = [
    {"name": "id", "type": "bigint", "nullable": False, "key": 1},
    {"name": "customer_id", "type": "int", "nullable": False, "key": 0},
    {"name": "sku", "type": "varchar", "nullable": False, "key": 0, "length": 256},
    {"name": "amount", "type": "decimal", "nullable": False, "key": 0, "precision": 12, "scale": 2},
    {"name": "created_at", "type": "datetime", "nullable": False, "key": 0, "fraction": 6},
    {"name": "updated_at", "type": "timestamp", "nullable": False, "key": 0, "fraction": 3},
    {"name": "attrs", "type": "json", "nullable": True, "key": 0},
    {"name": "status", "type": "enum", "nullable": False, "key": 0, "labels": ["new", "paid"]},
    {"name": "score", "type": "double", "nullable": True, "key": 0},
    {"name": "note", "type": "text", "nullable": True, "key": 0},
]
SCHEMA_ID = "0123456789abcdef"
DATABASE = "bench"
# Of each of many tables.
MANY_ROWS = 500
# Of the first schema record.
FIRST_SEQUENCE = Sequence(1, 1, 100, 1, 0)
_TS_MS = 1_700_000_000_000
# Records of a source transaction, which are in Kafka transactions of some of them.
_TRANSACTION_RECORDS = 5_000
# Of the changes of many tables: half are inserts, a tenth are deletes.
_INSERTS_END = 0.5
_UPDATES_END = 0.9


class Topics:
    """The topics of one workload."""

    def __init__(self, bootstrap: str, prefix: str, tables: Iterable[str], partitions: int) -> None:
        """Create the topics and write the schema records."""
        self.prefix = prefix
        self._bootstrap = bootstrap
        self._partitions = partitions
        self._position = 0
        self._in_transaction = 0
        tables = list(tables)
        admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        made = {row_topic(prefix, DATABASE, table): partitions for table in tables}
        made[control_topic(prefix, SCHEMA_TOPIC_SUFFIX)] = 1
        admin.create_topics(
            {
                topic: {"num_partitions": count, "replication_factor": 1}
                for topic, count in made.items()
            }
        )
        admin.close()
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=f"bench-{prefix}",
            compression_type="lz4",
            batch_size=256 * 1024,
            linger_ms=5,
            max_request_size=4 * 1024 * 1024,
        )
        self._producer.init_transactions()
        self._producer.begin_transaction()
        for table in tables:
            self._send_schema(table)

    def send(self, table: str, op: str, key: int, version: int) -> None:
        """Write a change of the row with `key`."""
        self._position += 100
        # JSON that is written once for both images.
        row = json.dumps(_row(key, version), separators=(",", ":"))
        before, after = row if op in "ud" else "null", "null" if op == "d" else row
        rest = {
            "source": {
                "version": "0.1.0",
                "connector": "mysql",
                "name": self.prefix,
                "ts_ms": _TS_MS,
                "db": DATABASE,
                "table": table,
                "server_id": 1,
                "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
                "file": "binlog.000001",
                "pos": self._position,
                "row": 0,
            },
            "op": op,
            "ts_ms": _TS_MS,
        }
        key_bytes = b'{"id":%d}' % key
        headers = [
            (HEADER_SEQ, str(Sequence(1, 1, self._position, 1, 0)).encode()),
            (HEADER_OP, op.encode()),
            (HEADER_SCHEMA, SCHEMA_ID.encode()),
            (HEADER_TXN, b"3e11fa47-71ca-11e1-9e33-c80aa9429562:42"),
        ]
        topic = row_topic(self.prefix, DATABASE, table)
        partition = partition_of(key_bytes, self._partitions)
        value = f'{{"before":{before},"after":{after},'.encode()
        value += json.dumps(rest, separators=(",", ":"))[1:].encode()
        self._producer.send(topic, value, key_bytes, headers, partition)
        if op == "d":
            self._producer.send(topic, None, key_bytes, headers, partition)
        self._in_transaction += 1
        if self._in_transaction >= _TRANSACTION_RECORDS:
            self.commit()

    def commit(self) -> None:
        """Commit what was written."""
        self._producer.commit_transaction()
        self._producer.begin_transaction()
        self._in_transaction = 0

    def ends(self, tables: Iterable[str]) -> dict[str, int]:
        """Return the offset after the last record of each table, whose topic has one partition."""
        topics = {row_topic(self.prefix, DATABASE, table): table for table in tables}
        consumer = KafkaConsumer(bootstrap_servers=self._bootstrap)
        found = consumer.end_offsets([TopicPartition(topic, 0) for topic in topics])
        consumer.close()
        return {topics[partition.topic]: offset for partition, offset in found.items()}

    def close(self) -> None:
        """Commit, and end the producer."""
        self._producer.commit_transaction()
        self._producer.close()

    def _send_schema(self, table: str) -> None:
        self._position += 100
        record = {
            "schema_id": SCHEMA_ID,
            "database": DATABASE,
            "table": table,
            "seq": str(Sequence(1, 1, self._position, 1, 0)),
            "columns": COLUMNS,
        }
        self._producer.send(
            control_topic(self.prefix, SCHEMA_TOPIC_SUFFIX),
            json.dumps(record).encode(),
            f"{DATABASE}.{table}/{SCHEMA_ID}".encode(),
        )


def fill_hot(topics: Topics, rows: int, changes: int) -> int:
    """Copy `rows` rows, then change some of them five times; return the number of records."""
    for key in range(rows):
        topics.send("hot", "r", key, 0)
    stride = max(1, rows * 5 // max(1, changes))
    count = 0
    for chunk in range(10):
        for version in range(5):
            for key in range(chunk, rows, stride * 10):
                topics.send("hot", "u", key, version)
                count += 1
    topics.commit()
    return rows + count


def tables_of_many(count: int) -> list[str]:
    """Return the names of the tables."""
    return [f"t{number:03d}" for number in range(count)]


class ManyTables:
    """Many small tables, and rounds of changes over all of them."""

    def __init__(self, topics: Topics, count: int) -> None:
        """Copy the rows of each table."""
        self._topics = topics
        self._tables = tables_of_many(count)
        self._dice = random.Random(5)
        self._next = dict.fromkeys(self._tables, MANY_ROWS)
        for table in self._tables:
            for key in range(MANY_ROWS):
                topics.send(table, "r", key, 0)
        topics.commit()

    def change(self) -> int:
        """Write one to twenty changes of each table, and return how many."""
        written = 0
        for table in self._tables:
            for _ in range(self._dice.randint(1, 20)):
                chance = self._dice.random()
                key = self._dice.randrange(self._next[table])
                op = "u" if chance < _UPDATES_END else "d"
                if chance < _INSERTS_END:
                    op, key = "c", self._next[table]
                    self._next[table] += 1
                self._topics.send(table, op, key, written)
                written += 1
        self._topics.commit()
        return written


def row_values(count: int) -> dict[str, list[Any]]:
    """Return the values of the copied rows by column, in types that Arrow knows."""
    rows = [_row(key, 0) for key in range(count)]
    values = {name: [row[name] for row in rows] for name in rows[0]}
    values["amount"] = list(map(Decimal, values["amount"]))
    for name in ("created_at", "updated_at"):
        values[name] = list(map(datetime.fromisoformat, values[name]))
    return values


def _row(key: int, version: int) -> dict[str, Any]:
    return {
        "id": key,
        "customer_id": key * 7919 % 200_000,
        "sku": f"SKU-{key * 104_729 % 1_000_000_007:09d}-alpha",
        "amount": f"{key * 31 % 9_999_999 / 100 + version:.2f}",
        "created_at": "2024-01-01 00:00:01.000000",
        "updated_at": "2024-06-01T00:00:01.250Z",
        "attrs": f'{{"w": {key / 3!r}, "qty": {key % 9}, "src": "web"}}',
        "status": "paid" if version else "new",
        "score": key * 0.37 + version,
        "note": f"leave at door call before gift wrap {key * 2_654_435_761:032x}",
    }
