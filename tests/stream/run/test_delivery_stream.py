"""What is received becomes what `dump --format envelope` prints of the same log."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

import pytest

from connector.binlog import log_errors
from connector.binlog.decoder import EventDecoder
from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.table_filter import TableFilter
from connector.foundation.contract import SEQ_EPOCH_DIGITS, SEQ_FILE_DIGITS, SEQ_POSITION_DIGITS
from connector.foundation.errors import ConnectorError, UnsupportedChange
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.record_batch import BatchingTarget, BatchReceiver
from connector.logs.dump.envelope_format import EnvelopeFormat
from connector.replication.protocol.event_stream import EventStream
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.changes.receiver import TransactionEnd
from connector.stream.envelope import record_errors
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.stream_position import Instance, StreamPosition
from connector.stream.run import run_errors
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream
from tests.golden.every_log import every_log_of_a_source
from tests.golden.golden import GoldenLog, logs
from tests.logs.dump.written import lines_of
from tests.stream.changes.received import changes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.kafka_records import Record
    from connector.foundation.record_batch import RecordBatch

NOW_US = 1_700_000_000_000_000
PREFIX = "p"
RECEIVED_BYTES = 1000
BATCH_BYTES = 4096
# Of a sequence: what a transaction's changes have in common.
FIRST_DIGITS = SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS
LOG = next(log for log in logs() if log.name == "mysql-8.0.31/row_images.full.000001")

# By topic, where order is kept: records, or the reason why there are no more.
Delivered = tuple[dict[str, list[object]], str]


class Batches(BatchReceiver):
    def __init__(self) -> None:
        self.records: list[Record] = []

    def partition_count(self, topic: str) -> int:
        del topic
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.records += batch.records()

    def too_large(self, topic: str) -> Exception:
        raise NotImplementedError(topic)


class Delivery:
    """The stream of one server, up to the sink."""

    def __init__(
        self, log: GoldenLog, *tables: str, position: StreamPosition | None = None
    ) -> None:
        mariadb = log.recording.server.startswith("mariadb")
        flavour: Literal["mysql", "mariadb"] = "mariadb" if mariadb else "mysql"
        gtids = None if mariadb else GtidSet()
        identity = ServerIdentity(flavour, "8.0.31", (8, 0, 31), "server", 1, gtid=not mariadb)
        point = StartPoint(flavour, gtids, log.log_name, 4)
        position = StreamPosition(identity, point) if position is None else position
        self.batches = Batches()
        self.target = BatchingTarget(self.batches, BATCH_BYTES, 4 * BATCH_BYTES, 1 << 24)
        options = EnvelopeOptions(PREFIX, flavour, version("binlog-connector"))
        self.stream = DeliveryStream(
            EventDecoder(file=log.log_name, mariadb=mariadb),
            TableFilter(tables or ("*.*",)),
            RecordOutput(RecordEncoder(options, position.order, self.target), self.target),
            position,
            TemporaryFolder(),
            DeliveryOptions(),
            ChangeHandlers(),
        )
        self._log = log

    def run(self) -> Iterator[list[Record]]:
        """Yield the records of each transaction, once it is complete."""
        events = EventStream("server")
        for data in _received(self._log):
            events.feed(data)
            while not self.stream.run(events, 0, NOW_US):
                self.target.flush()
                self.stream.waiting = 0
                yield self.batches.records
                self.batches.records = []


def _received(log: GoldenLog) -> Iterator[bytes]:
    """Yield what a server sends of the log, cut where no event ends."""
    packets = b"".join(
        (len(event.data) + 1).to_bytes(3, "little") + bytes([number & 0xFF, 0]) + event.data
        for number, event in enumerate(log.events(), 1)
    )
    for start in range(0, len(packets), RECEIVED_BYTES):
        yield packets[start : start + RECEIVED_BYTES]


def delivered(log: GoldenLog) -> Delivered:
    by_topic: dict[str, list[object]] = defaultdict(list)
    try:
        for records in Delivery(log).run():
            for record in records:
                by_topic[record.topic].append(shown(record))
    except ConnectorError as error:
        return by_topic, error.text
    return by_topic, ""


def shown(record: Record) -> object:
    key = None if record.key is None else record.key.decode()
    return {
        "topic": record.topic,
        "key": key if key is None or record.topic == schema_topic(PREFIX) else json.loads(key),
        "value": None if record.value is None else json.loads(record.value),
        "headers": {name: value.decode() for name, value in record.headers},
    }


def dumped(log: GoldenLog) -> Delivered:
    by_topic: dict[str, list[object]] = defaultdict(list)
    writer = EnvelopeFormat(PREFIX, TableFilter(["*.*"]), lambda: NOW_US)
    try:
        for line in lines_of(writer, log.events()):
            record = json.loads(line)
            by_topic[record["topic"]].append(record)
    except ConnectorError as error:
        return by_topic, error.text
    finally:
        writer.end()
    return by_topic, ""


@every_log_of_a_source
def test_what_is_delivered_is_what_the_dump_prints(log: GoldenLog) -> None:
    assert delivered(log) == dumped(log)


def sequences(delivery: Delivery, topic: str) -> list[bytes]:
    return [
        dict(record.headers)["cdc.seq"]
        for records in delivery.run()
        for record in records
        if record.topic == topic
    ]


def test_a_filter_leaves_the_sequences_of_followed_rows_as_they_are() -> None:
    whole, filtered = Delivery(LOG), Delivery(LOG, "golden.unique_keyed")
    expected = sequences(whole, f"{PREFIX}.golden.unique_keyed")
    assert expected
    assert sequences(filtered, f"{PREFIX}.golden.unique_keyed") == expected


def test_progress_names_the_last_transaction_that_was_published() -> None:
    delivery = Delivery(LOG)
    instance = Instance("a", "host", 7)
    progress = delivery.stream.progress(instance, 1)
    assert progress.seq == ""
    last = b""
    for records in delivery.run():
        last = next((dict(r.headers)["cdc.seq"] for r in reversed(records) if r.headers), last)
        progress = delivery.stream.progress(instance, 1)
        # Of its first event.
        assert progress.seq[:FIRST_DIGITS].encode() == last[:FIRST_DIGITS]
        assert not delivery.stream.in_transaction
    end = changes_of(LOG.events(), TableFilter([]))[-1]
    assert isinstance(end, TransactionEnd)
    assert (progress.file, progress.position) == (end.file, end.next_position)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("mysql-8.0.31/mixed.000001", "gtid:00000080-0000-4000-8000-000000000000:1-3"),
        ("mariadb-11.8.6/mixed.000001", "gtid:0-118-3"),
        ("mysql-5.7.22/gtids.off.000001", "position:binlog.000001:POS"),
    ],
)
def test_a_refused_transaction_is_told_with_the_position_after_it(name: str, start: str) -> None:
    log = next(log for log in logs() if log.name == name)
    delivery = Delivery(log)
    if "mariadb" in name:
        identity = ServerIdentity("mariadb", "11.8.6", (11, 8, 6), "", 1, gtid=True)
        point = StartPoint("mariadb", MariadbGtidSet(), log.log_name, 4)
        delivery = Delivery(log, position=StreamPosition(identity, point))
    with pytest.raises(UnsupportedChange) as raised:
        list(delivery.run())
    passed = delivery.stream.with_fix(raised.value)
    by_position = start.endswith(":POS")
    assert passed.message.code is (
        run_errors.CONTINUE_BY_POSITION if by_position else run_errors.CONTINUE_BY_GTID
    )
    assert passed.code is raised.value.code
    told = passed.text
    said, _, rest = told.partition(
        f'; the position after this transaction is source.start = "{start}"'
    )
    assert said == raised.value.text
    listed = re.fullmatch(
        r", where POS is that of the next one in SHOW BINLOG EVENTS IN 'binlog.000001' FROM \d+",
        rest,
    )
    assert bool(listed) == by_position
    assert listed or not rest


def test_a_refusal_of_one_table_names_the_quarantine() -> None:
    refused = UnsupportedChange(
        record_errors.TOPIC_SHARED, one="a.b c", other="a.b_c", topic="p.a.b_c"
    )
    told = Delivery(LOG).stream.with_fix(refused)
    assert told.code is refused.code
    assert told.text == (
        f'{refused.text}; or set quarantine.policy = "fence-table" and start again: it keeps the '
        "changes of this table back, and all other tables go on"
    )


def test_a_refusal_that_nothing_passes_is_told_as_it_is() -> None:
    refused = UnsupportedChange(log_errors.FILE_NUMBER, file="binlog.backup")
    assert Delivery(LOG).stream.with_fix(refused) is refused
