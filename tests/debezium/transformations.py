"""Records of Debezium's ByLogicalTableRouter and EventRouter, kept for the suite.

::

    python -m tests.debezium.transformations

Debezium reads one MySQL server with each set of options. Its records, and the log that it read, go
to `golden/transformations`. It needs Maven and Java.
"""

from __future__ import annotations

import gzip
import json
import lzma
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, TopicPartition

from benchmarks import debezium
from benchmarks.builds import Builds
from benchmarks.debezium import FAIR, DebeziumConnector
from benchmarks.home import Home
from benchmarks.stack import PASSWORD, USER, Stack
from local_stack import KafkaBroker, MysqlServer, connect
from tests.debezium.comparison import GOLDEN, LOG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

FOLDER = GOLDEN / "transformations"
RECORDS = FOLDER / "records.jsonl.xz"
DATABASE = "story"
# Debezium copies the rows of the first statements.
BEGINNING = (
    "CREATE TABLE orders_1 (id INT PRIMARY KEY, v VARCHAR(20))",
    "CREATE TABLE orders_2 (id INT PRIMARY KEY, v VARCHAR(20))",
    """CREATE TABLE outbox (id CHAR(36) NOT NULL PRIMARY KEY, aggregatetype VARCHAR(255) NOT NULL,
        aggregateid VARCHAR(255) NOT NULL, type VARCHAR(255), payload JSON, n INT,
        b VARBINARY(40))""",
    "INSERT INTO orders_1 VALUES (1, 'a')",
    "INSERT INTO outbox VALUES ('0', 'order', '1', 'Created', '{}', 7, X'00FF')",
)
CHANGES = (
    "INSERT INTO orders_2 VALUES (1, 'b')",
    "UPDATE orders_2 SET id = 2",
    "DELETE FROM orders_2",
    r"""INSERT INTO outbox VALUES ('1', 'order', '1', 'Created',
        '{"id": 1, "x": [1.50, null, "é\\"/\\n😀"]}', 7, X'00FF')""",
    "INSERT INTO outbox VALUES ('2', 'customer', 'é\"/😀', 'Changed', NULL, NULL, NULL)",
    "INSERT INTO outbox VALUES ('3', 'order', '2', NULL, '\"text\"', -1, X'')",
    """INSERT INTO outbox VALUES ('5', 'order', '5', NULL, '{"a": 1, "b": 9999999999, "c": 1.5,
        "d": true, "e": null, "f": "é/😀", "g": {"h": {"k": -1}}, "l": [], "m": [1, null, 2],
        "n": ["a", "b"], "p": [[1], [2]], "s": [{"x": 1}, {"x": null}, {"x": 2}], "t": {},
        "long name": [0.5, 100.25], "ü": false, "s2": [{"x": [1]}, null], "v": [{}]}', 1, NULL)""",
    "INSERT INTO outbox VALUES ('6', 'order', '6', NULL, '{\"a\": [1, 2.5], \"b\": 1}', 1, NULL)",
    "INSERT INTO outbox VALUES ('7', 'order', '7', NULL, '{\"a\": [null]}', 1, NULL)",
    "INSERT INTO outbox VALUES ('8', 'order', '8', NULL, 'true', 1, NULL)",
    "UPDATE outbox SET payload = '{}' WHERE id = '1'",
    "DELETE FROM outbox WHERE id = '1'",
    "INSERT INTO outbox VALUES ('4', 'order', '2', 'last', '{}', 0, X'61')",
)
# Records of each set: of routes, and of events.
_ROUTED, _EVENTS = 7, 9


@dataclass(frozen=True)
class Transformed:
    """The same options, in Debezium's words and in those of `[envelope]`."""

    name: str
    theirs: dict[str, str]
    envelope: dict[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """How many records Debezium writes."""
        return _EVENTS if self.name.startswith("outbox") else _ROUTED


_SCHEMAS = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
_WITH_SCHEMAS = {"key_format": "json_with_schema", "value_format": "json_with_schema"}
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_STRINGS = {"key.converter": _STRING, "value.converter": _STRING}
_PLAIN = {"key_format": "plain", "value_format": "plain"}
_BYTES = {
    "value.converter": "io.debezium.converters.BinaryDataConverter",
    "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
}
_FLAT = {
    "transforms": "routed,flat",
    "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.flat.delete.tombstone.handling.mode": "rewrite-with-tombstone",
}


def _routed(
    name: str, theirs: dict[str, str], envelope: dict[str, Any], **ours: str
) -> Transformed:
    options = {
        "table.include.list": f"{DATABASE}.orders_.*",
        "transforms": "routed",
        "transforms.routed.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.routed.topic.regex": rf"(.*)\.{DATABASE}\.orders_(.*)",
        "transforms.routed.topic.replacement": "$1-all.orders",
        **theirs,
    }
    route = {"tables": f"{DATABASE}.orders_*", "topic": f"{name}-all.orders", **ours}
    return Transformed(name, options, {"routes": [route], **envelope})


def _outbox(
    name: str, converters: dict[str, str], event: dict[str, str], **ours: Any
) -> Transformed:
    options = {
        "table.include.list": f"{DATABASE}.outbox",
        "transforms": "event",
        "transforms.event.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.event.route.topic.replacement": name + ".${routedByValue}",
        **converters,
        **{f"transforms.event.table.{key}": value for key, value in event.items()},
    }
    outbox = {"tables": [f"{DATABASE}.outbox"], "topic_name": f"{name}.{{value}}", **ours}
    return Transformed(name, options, {"outbox": outbox})


SETS = (
    _routed("routed", {}, {}),
    _routed("routed-schemas", _SCHEMAS, _WITH_SCHEMAS),
    _routed(
        "routed-flat",
        {**_SCHEMAS, **_FLAT},
        {**_WITH_SCHEMAS, "shape": "flat", "flat_deletes": "rewrite-with-tombstone"},
    ),
    _routed("routed-named", {"transforms.routed.key.field.name": "shard"}, {}, key_field="shard"),
    _routed("routed-bare", {"transforms.routed.key.enforce.uniqueness": "false"}, {}, key_field=""),
    _outbox(
        "outbox",
        {},
        {"fields.additional.placement": "type:header:eventType,n:header,b:header:bytes"},
        headers=["type:eventType", "n", "b:bytes"],
    ),
    _outbox("outbox-schemas", _SCHEMAS, {}, **_WITH_SCHEMAS),
    _outbox("outbox-expanded", {}, {"expand.json.payload": "true"}, expand_payload=True),
    _outbox(
        "outbox-expanded-schemas",
        _SCHEMAS,
        {"expand.json.payload": "true"},
        expand_payload=True,
        **_WITH_SCHEMAS,
    ),
    _outbox("outbox-plain", _STRINGS, {}, **_PLAIN),
    _outbox(
        "outbox-bytes",
        _BYTES,
        {"field.event.key": "n", "field.event.payload": "b"},
        key="n",
        payload="b",
        value_format="plain",
    ),
    _outbox(
        "outbox-numbers",
        _STRINGS,
        {"field.event.key": "n", "field.event.payload": "n", "field.event.id": "b"},
        key="n",
        payload="n",
        id="b",
        **_PLAIN,
    ),
)


def main() -> None:
    """Record what Debezium writes, and the log that it reads."""
    debezium.PATIENCE_SECONDS = 400.0
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder))


def _record(folder: Path) -> None:
    home = Home(0)
    class_path = Builds(home.cache).connect()
    settings = {"character_set_server": "utf8mb4"}
    with (
        MysqlServer(folder / "data", version="9", settings=settings) as server,
        KafkaBroker(folder / "kafka") as kafka,
    ):
        endpoint = server.endpoint
        _play(
            endpoint,
            "",
            f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'",
            f"GRANT ALL PRIVILEGES ON *.* TO {USER}",
            f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4",
        )
        _play(endpoint, DATABASE, *BEGINNING)
        first, *others = SETS
        stack = Stack(home, server, kafka)
        theirs = DebeziumConnector(
            stack, first.name, DATABASE, class_path, {**FAIR, **first.theirs}
        )
        try:
            beside = {each.name: each.theirs for each in others}
            theirs.copy(first.theirs["table.include.list"], beside)
            _wait(kafka.endpoint, theirs, dict.fromkeys((each.name for each in SETS), 1))
            _play(endpoint, DATABASE, *CHANGES)
            records = _wait(kafka.endpoint, theirs, {each.name: each.records for each in SETS})
        finally:
            theirs.stop()
    FOLDER.mkdir(exist_ok=True)
    lines = (json.dumps(each) for each in records)
    RECORDS.write_bytes(lzma.compress("\n".join(lines).encode()))
    log = (folder / "data/data/binlog.000001").read_bytes()
    (FOLDER / LOG).write_bytes(gzip.compress(log, mtime=0))


def _play(endpoint: Endpoint, database: str, *statements: str) -> None:
    with connect(endpoint, database or None) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _wait(broker: Endpoint, theirs: DebeziumConnector, least: dict[str, int]) -> list[Any]:
    """Return all records of rows and events, once each set has so many."""
    deadline = time.monotonic() + debezium.PATIENCE_SECONDS
    while True:
        found = list(_records(broker))
        if all(sum(each[0] == name for each in found) >= count for name, count in least.items()):
            return found
        theirs.check()
        assert time.monotonic() < deadline, found
        time.sleep(1.0)


def _records(broker: Endpoint) -> Iterator[list[Any]]:
    """Yield set, topic, key, value and headers; bytes that are no UTF-8 as lone surrogates."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap, enable_auto_commit=False, group_id=None
    )
    names = {each.name for each in SETS}
    with closing(consumer):
        for topic in sorted(consumer.topics()):
            name = topic.partition(".")[0].removesuffix("-all")
            if name not in names or "." not in topic:
                continue
            partition = TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            end = consumer.end_offsets([partition])[partition]
            while consumer.position(partition) < end:
                for records in consumer.poll(timeout_ms=200).values():
                    for each in records:
                        headers = [(header, as_text(of)) for header, of in each.headers]
                        yield [name, topic, as_text(each.key), as_text(each.value), headers]


def as_text(data: bytes | None) -> str | None:
    """Return bytes as JSON can have them."""
    return None if data is None else data.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
