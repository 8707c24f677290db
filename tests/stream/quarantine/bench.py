"""A stream of made up transactions with a guard in it, and Kafka as lists."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.transaction import GtidEvent, XidEvent
from connector.binlog.gtid import Gtid, GtidSet
from connector.binlog.header import EventType
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import RecordTooLarge
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.record_batch import BatchingTarget, BatchReceiver
from connector.replication.protocol.event_stream import EventStream
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.progress.progress_record import pending_columns
from connector.stream.progress.stream_position import Instance, StreamPosition
from connector.stream.quarantine.copy_guard import CopyGuard
from connector.stream.quarantine.fences import Fences
from connector.stream.quarantine.guard import Guard
from connector.stream.quarantine.records import ChangeReader, RecordParts, quarantined_rows
from connector.stream.quarantine.replay import Replay
from connector.stream.quarantine.store import QuarantineStore
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream
from connector.stream.sink import connection, kafka_errors
from tests.binlog.encoders import encoded
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event, tlv
from tests.stream.changes.heard import Heard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.control_records import QuarantineRecord
    from connector.foundation.errors import ConnectorError
    from connector.foundation.kafka_records import Record
    from connector.foundation.record_batch import RecordBatch
    from connector.stream.envelope.schemas.column_rules import ColumnRules
    from connector.stream.progress.progress_record import Progress

PREFIX, PIPELINE, FILE = "p", "shop", "binlog.000001"
NOW_US = 1_700_000_000_000_000
IDENTITY = ServerIdentity("mysql", "8.0.31", (8, 0, 31), "server", 1, gtid=True)
INSTANCE = Instance("i", "host", 1)
SOURCE = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
# A text that is not UTF-8, and one that a small record does not hold.
BAD = b"\xff\xfe"
LARGE = b"x" * 4000
SMALL_RECORD = 3000
TABLES = {"t": 101, "u": 102}
# The status variable of the databases that a statement changes: one, shop.
_CHANGES_SHOP = b"\x0c\x01shop\0"
_TYPES = {
    "c": EventType.WRITE_ROWS_EVENT,
    "u": EventType.UPDATE_ROWS_EVENT,
    "d": EventType.DELETE_ROWS_EVENT,
}


@dataclass(frozen=True)
class Row:
    """A changed row; an update may give it another id."""

    op: str
    id: int
    text: bytes = b"text"
    new_id: int | None = None

    @property
    def keys(self) -> set[int]:
        """The ids that it touches."""
        return {self.id} if self.new_id is None else {self.id, self.new_id}


class Log:
    """Event bytes of one server's log."""

    def __init__(self) -> None:
        self.events: list[bytes] = [FORMAT_DESCRIPTION]
        self.end = 4 + len(FORMAT_DESCRIPTION)
        self.number = 0
        # Behind the events that were delivered; the format is made known to each run.
        self.delivered = 1

    def transaction(self, *events: tuple[str, list[Row]], key_columns: bytes = b"\x00") -> None:
        """Append a transaction of rows events, each of one table and one kind."""
        self._open()
        self._put(EventType.QUERY_EVENT, query("BEGIN"))
        for table, rows in events:
            self._put(EventType.TABLE_MAP_EVENT, table_map(table, key_columns))
            self._put(_TYPES[rows[0].op], rows_body(table, rows))
        self._put(EventType.XID_EVENT, encoded(XidEvent(self.number)))

    def statement(self, text: str) -> None:
        """Append DDL."""
        self._open()
        self._put(EventType.QUERY_EVENT, query(text))

    def logged_statement(self, text: str) -> None:
        """Append a transaction of a statement that has no rows in the log."""
        self._open()
        self._put(EventType.QUERY_EVENT, query("BEGIN"))
        self._put(EventType.QUERY_EVENT, query(text, _CHANGES_SHOP))
        self._put(EventType.XID_EVENT, encoded(XidEvent(self.number)))

    def next_events(self) -> list[bytes]:
        """Return what is to be delivered."""
        events, self.delivered = self.events[self.delivered :], len(self.events)
        return events

    def _open(self) -> None:
        self.number += 1
        facts = (0, self.number - 1, self.number, NOW_US, NOW_US, 0, 80031, 80031, None)
        gtid = GtidEvent(*facts, Gtid(SOURCE, self.number))
        self._put(EventType.GTID_LOG_EVENT, encoded(gtid))

    def _put(self, type_code: int, body: bytes) -> None:
        self.end += 19 + len(body) + 4
        self.events.append(event(type_code, body, log_pos=self.end))


def query(text: str, variables: bytes = b"") -> bytes:
    """Return the body of a QUERY_EVENT in database shop, with status `variables`."""
    head = (9).to_bytes(4, "little") + bytes(4) + b"\x04" + bytes(2)
    return head + len(variables).to_bytes(2, "little") + variables + b"shop\0" + text.encode()


def table_map(table: str, key_columns: bytes = b"\x00") -> bytes:
    """Return the body for a table (id INT, text VARCHAR NULL) with a primary key, all metadata."""
    return (
        TABLES[table].to_bytes(6, "little")
        + b"\x01\x00\x04shop\0\x01"
        + table.encode()
        + b"\0\x02\x03\x0f\x02"
        + (60_000).to_bytes(2, "little")
        + b"\x02"
        + tlv(1, b"\x00")
        + tlv(2, b"\x2d")
        + tlv(4, b"\x02id\x04text")
        + tlv(8, key_columns)
    )


def rows_body(table: str, rows: list[Row]) -> bytes:
    """Return the body of an event of rows of one kind."""
    head = TABLES[table].to_bytes(6, "little") + b"\x01\x00\x02\x00\x02\x03"
    if rows[0].op == "u":
        head += b"\x03"
    return head + b"".join(image for row in rows for image in images(row))


def images(row: Row) -> list[bytes]:
    """Return the images of a row."""
    if row.op != "u":
        return [image(row.id, row.text)]
    return [image(row.id, b"before"), image(row.id if row.new_id is None else row.new_id, row.text)]


def image(row_id: int, text: bytes) -> bytes:
    """Return one image."""
    return b"\x00" + row_id.to_bytes(4, "little") + len(text).to_bytes(2, "little") + text


@dataclass
class Kafka(BatchReceiver):
    """What was committed, by topic, and what waits for it."""

    committed: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    open: list[Record] = field(default_factory=list)
    # What it answers instead of creating a topic.
    refusals: dict[str, ConnectorError] = field(default_factory=dict)

    def partition_count(self, topic: str) -> int:
        if topic in self.refusals:
            raise self.refusals[topic]
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.open += batch.records()

    def too_large(self, topic: str) -> Exception:
        return RecordTooLarge(
            kafka_errors.RECORD_SIZE, servers="a:9092", doing=connection.writing(topic)
        )

    def commit(self) -> None:
        """Make everything visible."""
        for record in self.open:
            self.committed[record.topic].append(record)
        self.open = []

    def last_values(self, topic: str, key_prefix: str) -> dict[str, bytes]:
        """Return what a compacted topic keeps."""
        values: dict[str, bytes] = {}
        for record in self.committed[topic]:
            assert record.key is not None
            key = record.key.decode().removeprefix(key_prefix)
            values.pop(key, None)
            if record.value is not None:
                values[key] = record.value
        return values

    def rows(self, table: str) -> list[Record]:
        """Return the records of a table, without tombstones."""
        records = self.committed[f"{PREFIX}.shop.{table}"]
        return [record for record in records if record.value is not None]


class Run:
    """One run of the pipeline, up to where the next one begins."""

    def __init__(
        self,
        kafka: Kafka,
        log: Log,
        policy: str,
        last: Progress | None = None,
        record_bytes_max: int = SMALL_RECORD,
        *,
        transaction_records: bool = False,
        on_rewrite: str = "copy",
        columns: ColumnRules | None = None,
        point: StartPoint | None = None,
    ) -> None:
        self.heard = Heard()
        self.kafka = kafka
        self.log = log
        begin = StartPoint("mysql", GtidSet(), FILE, 4)
        position = StreamPosition(IDENTITY, begin if point is None else point, last)
        target = BatchingTarget(kafka, 1 << 16, 1 << 20, record_bytes_max)
        options = EnvelopeOptions(PREFIX, "mysql", "1", tombstones=False, columns=columns)
        schemas = kafka.last_values(f"{PREFIX}.schema", "")
        added = {} if last is None else pending_columns(last)
        transactions = TransactionRecords(PREFIX, target) if transaction_records else None
        encoder = RecordEncoder(
            options,
            position.order,
            transactions or target,
            SchemaState(
                schemas,
                added,
                {} if last is None else last.current_schemas,
                {} if last is None else last.stated_schemas,
            ),
        )
        # As after a restart, the server sends the format first.
        decoder = EventDecoder(file=FILE)
        decoder.open(FORMAT_DESCRIPTION)
        decoder.seek(4 + sum(map(len, log.events[: log.delivered])))
        kept = kafka.last_values(f"{PREFIX}.fences", f"{PIPELINE}/")
        self.fences = Fences(PREFIX, PIPELINE, target, kept)
        store = QuarantineStore(options, PIPELINE, encoder, decoder, target, record_bytes_max)
        self.guard = Guard(policy, encoder, self.fences, store)
        self.copied_rows = CopyGuard(policy, self.fences, store)
        self.stream = DeliveryStream(
            decoder,
            TableFilter(("*.*",)),
            RecordOutput(encoder, target, transactions),
            position,
            TemporaryFolder(),
            DeliveryOptions(on_rewrite=on_rewrite),
            ChangeHandlers(self.guard, self.heard),
        )
        self.encoder, self._position, self._target = encoder, position, target
        self._received = EventStream("server")
        self._packets = 0

    def deliver(self) -> None:
        """Deliver everything that the log has, and commit it."""
        self.take()
        self.commit()

    def take(self) -> None:
        """Deliver everything that the log has."""
        for data in self.log.next_events():
            self._packets += 1
            head = (len(data) + 1).to_bytes(3, "little") + bytes([self._packets & 0xFF, 0])
            self._received.feed(head + data)
        assert self.stream.run(self._received, 1 << 30, NOW_US)

    def commit(self) -> None:
        """Commit what was written."""
        self.fences.flush(NOW_US // 1000)
        self._target.flush()
        self.kafka.commit()

    def replay(self, table: str = "t", key: str | None = None) -> None:
        """Replay fences of a table to the end, and commit it."""
        records = Records(self.kafka)
        replay = self.open_replay(records, table, key)
        while not replay.done:
            assert records.waiting, "it waits for what does not come"
            replay.step(NOW_US)
            self.commit()

    def open_replay(self, records: Records, table: str = "t", key: str | None = None) -> Replay:
        """Return a replay of fences of a table."""
        fenced = self.fences.of("shop", table)
        assert fenced is not None
        fences = [fence for fence in fenced if key in (None, fence.key)]
        for fence in fences:
            fence.replay = "1"
        return Replay(
            PIPELINE,
            fences,
            self.fences,
            self.encoder,
            self._position,
            records,
            lambda: 0.0,
        )

    def next_run(self, policy: str, record_bytes_max: int = SMALL_RECORD) -> Run:
        """Return the run of the next process."""
        progress = self.stream.progress(INSTANCE, 0)
        return Run(self.kafka, self.log, policy, progress, record_bytes_max)


class Records:
    """The committed records of the quarantine."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._read = 0

    @property
    def waiting(self) -> list[tuple[QuarantineRecord, bytes]]:
        """Those that were not read."""
        return quarantined(self._kafka)[self._read :]

    def read(self) -> Iterator[tuple[int, bytes, QuarantineRecord, bytes]]:
        for record, data in self.waiting:
            self._read += 1
            yield 0, f"{PIPELINE}/{record['database']}.{record['table']}".encode(), record, data

    def end(self) -> int:
        return len(quarantined(self._kafka))

    def has_read_to(self, end: int) -> bool:
        return self._read >= end

    def close(self) -> None:
        pass


def quarantined(kafka: Kafka) -> list[tuple[QuarantineRecord, bytes]]:
    """Return what is in quarantine."""
    parts = RecordParts()
    found = []
    for record in kafka.committed[f"{PREFIX}.quarantine"]:
        assert record.key is not None
        assert record.value is not None
        whole = parts.take(record.key, record.value)
        if whole is not None:
            found.append(whole)
    return found


def kept_rows(kafka: Kafka) -> list[tuple[str, int, int]]:
    """Return GTID number, event and row of every row in quarantine, as its bytes tell them."""
    reader = ChangeReader()
    found = []
    for record, data in quarantined(kafka):
        if record["kind"] == "rows":
            change = reader.rows(record, data)
            assert b64decode(record["format_description"]) == FORMAT_DESCRIPTION
            found += [
                (change.transaction.id, change.event_number, kept["row"])
                for kept in quarantined_rows(record, change.rows.count())
            ]
    return found


def value_of(record: Record) -> Any:
    """Return the envelope."""
    assert record.value is not None
    return json.loads(record.value)


def written_rows(kafka: Kafka, table: str) -> list[tuple[str, int, int, str]]:
    """Return transaction, position, row and operation of every record of a table."""
    found = []
    for record in kafka.rows(table):
        value = value_of(record)
        source = value["source"]
        found.append((source["gtid"], source["pos"], source["row"], value["op"]))
    return found


def folded(kafka: Kafka, table: str) -> dict[int, str]:
    """Return the rows that a consumer ends with."""
    rows: dict[int, str] = {}
    for record in kafka.rows(table):
        value = value_of(record)
        if value["op"] == "t":
            rows.clear()
        elif value["after"] is None:
            rows.pop(value["before"]["id"], None)
        else:
            rows[value["after"]["id"]] = value["after"]["text"]
    return rows


def sequences(kafka: Kafka, table: str) -> list[str]:
    """Return cdc.seq of the records of a table."""
    return [dict(record.headers)["cdc.seq"].decode() for record in kafka.rows(table)]
