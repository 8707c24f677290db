"""A stream of a real server that dies and goes on from its progress, in memory.

What a process that dies leaves is what it committed last, so that each commit stands for a death at
any event up to the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from connector.binlog.decoder import EventDecoder
from connector.binlog.table_filter import TableFilter
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.record_batch import BatchingTarget, BatchReceiver
from connector.foundation.settings.sections import SourceSettings
from connector.replication.protocol.event_stream import EventStream
from connector.stream.changes.changes_errors import RolledBack
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.progress.progress_record import Progress
from connector.stream.progress.stream_position import Instance, StreamPosition
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream
from connector.stream.source.server_selection import choose_source
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.kafka_records import Record
    from connector.foundation.record_batch import RecordBatch
    from connector.stream.source.server_selection import CheckedSource
    from local_stack import Endpoint

NOW_US = 1_700_000_000_000_000
PREFIX = "p"


class Batches(BatchReceiver):
    """Keeps the records of batches, of topics with one partition."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def partition_count(self, topic: str) -> int:
        del topic
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.records += batch.records()


class CrashingStream:
    """What Kafka would have of tables of one server, over all runs."""

    def __init__(self, source: Endpoint, start: str, *tables: str) -> None:
        """Follow `tables` from `start`."""
        self._settings = SourceSettings(
            host=source.host,
            port=source.port,
            user=source.user,
            password=SecretStr(source.password),
            server_id=5799,
            tables=list(tables),
            start=start,
        )
        self.rolled_back: set[str] = set()
        self.committed: list[Record] = []
        self.progress: Progress | None = None
        # What was committed, as it was behind each commit.
        self.states: list[tuple[list[Record], Progress]] = []

    def run(self) -> None:
        """Deliver to the end of the log, and commit behind each transaction."""
        while True:
            try:
                self._run()
            except RolledBack as error:
                self.rolled_back.add(error.transaction_id)
            else:
                return

    def _run(self) -> None:
        last = self.progress
        source = choose_source(self._settings, last)
        position = StreamPosition(source.identity, source.point, last, source=source.address)
        flavour = source.identity.flavour
        batches = Batches()
        target = BatchingTarget(batches, 4096, 16384, 1 << 24)
        known = {
            r.key.decode(): r.value
            for r in self.committed
            if r.topic.endswith(".schema") and r.key and r.value
        }
        stream = DeliveryStream(
            EventDecoder(
                file=source.point.file,
                position=source.point.position,
                mariadb=flavour == "mariadb",
            ),
            TableFilter(self._settings.tables),
            RecordOutput(
                RecordEncoder(
                    EnvelopeOptions(PREFIX, flavour, "1"),
                    position.order,
                    target,
                    SchemaState(known),
                ),
                target,
            ),
            position,
            TemporaryFolder(),
            DeliveryOptions(rolled_back=frozenset(self.rolled_back)),
            ChangeHandlers(),
        )
        events = EventStream("source")
        for number, data in enumerate(self._events(source), 1):
            feed_event(events, number, data)
            stream.run(events, 1 << 40, NOW_US)
            if stream.waiting and not stream.in_transaction:
                self._commit(stream, target, batches)

    def _events(self, source: CheckedSource) -> Iterator[bytes]:
        start = source.reads_from or source.point
        with open_stream(self._settings, start, replica_name="crash", stop_at_end=True) as dump:
            while not dump.ended:
                data = dump.receive(5.0)
                if data is not None:
                    yield data

    def _commit(self, stream: DeliveryStream, target: BatchingTarget, batches: Batches) -> None:
        target.flush()
        self.committed += batches.records
        batches.records = []
        stream.waiting = 0
        # As it is read back.
        record = stream.progress(Instance("a", "host", 7), 1).encode(PREFIX, "p")
        assert record.value is not None
        self.progress = Progress.decode(record.value, "progress")
        self.states.append((list(self.committed), self.progress))


def feed_event(events: EventStream, number: int, data: bytes) -> None:
    """Feed an event, the `number`th of a dump, as the server sent it: in a packet of its own."""
    events.feed((len(data) + 1).to_bytes(3, "little") + bytes([number & 0xFF, 0]) + data)


def shown(records: list[Record]) -> list[tuple[str, bytes | None, bytes | None, str]]:
    """Return what is compared of records: all but schema records, whose first use may be lost."""
    return [
        (record.topic, record.key, record.value, str(record.headers))
        for record in records
        if not record.topic.endswith(".schema")
    ]
