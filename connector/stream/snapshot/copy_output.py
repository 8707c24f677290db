"""The records of copies, between two source transactions, and the position of the stream."""

from collections.abc import Iterable
from collections.abc import Sequence as AnySequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import structlog

from connector.binlog.decoder import EventDecoder
from connector.binlog.gtid import GtidSet
from connector.binlog.header import file_number
from connector.foundation.contract import Sequence
from connector.foundation.errors import UnsupportedChange
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import Settings
from connector.stream.envelope.copied_chunk import COPIED, Chunk, CopyPosition, publish_events
from connector.stream.envelope.copied_deletes import put_deletes, put_truncate
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.progress.sequences import GapSequence
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.quarantine.copy_guard import CopyGuard
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.snapshot.notifications import NotificationWriter
from connector.stream.snapshot.table_state import TableState, snapshot_topic
from connector.stream.snapshot.watermark import DeliveredPosition, LogPosition

_US_PER_MS = 1000


class CopyOutput:
    """Gives records to the sink, in the name of one pipeline.

    Methods that write raise the errors of the target, and UnsupportedChange if a sequence has no
    more numbers.
    """

    def __init__(
        self,
        settings: Settings,
        encoder: RecordEncoder,
        sink: KafkaSink,
        copied_rows: CopyGuard,
        position: StreamPosition,
        decoder: EventDecoder,
        clock: Clock,
    ) -> None:
        target: RecordTarget = sink.target
        self.watch = encoder.watch
        self.debezium = encoder.options.debezium
        self.notifications = NotificationWriter(settings, target, clock)
        self._pipeline = settings.name
        self._options = encoder.options
        self._encoder = encoder
        self._sink = sink
        self._target = target
        self._copied_rows = copied_rows
        self._position = position
        self._decoder = decoder
        self._clock = clock
        self._numbers: dict[str, int] = {}

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    @property
    def seconds(self) -> float:
        """The time of a clock that never goes back."""
        return self._clock.monotonic()

    @property
    def position(self) -> LogPosition | None:
        """The end of what was delivered of the log; None before the server names a file.

        It is exact between two transactions; within one, it is a little ahead.
        """
        read = self._decoder.log_position
        delivered = self.transaction_end
        # Events between transactions move the reader, but not the position of the stream.
        came = self._log_position(read.file, read.position)
        if delivered is None or came is None:
            return delivered or came
        return max(delivered, came)

    @property
    def transaction_end(self) -> LogPosition | None:
        """The end of the last transaction; None if it is not known."""
        return self._log_position(self._position.file, self._position.position)

    @property
    def delivered(self) -> DeliveredPosition:
        """The stream's position and GTIDs, up to which everything was delivered."""
        gtids = self._position.gtid_set
        return DeliveredPosition(str(gtids) if isinstance(gtids, GtidSet) else None, self.position)

    def topics_of(self, schemas: Iterable[TableSchema]) -> list[str]:
        """Return the topics of tables, without those that are refused when they get a record."""
        topics = []
        for schema in schemas:
            if self._encoder.tables.outbox_events(schema) is not None:
                continue
            try:
                topics.append(self._encoder.tables.topic(schema.database, schema.table))
            except UnsupportedChange:
                continue
        return topics

    def has_topics(self, topics: list[str]) -> bool:
        """Return whether topics exist; those that do not are created meanwhile.

        It also returns true if that has failed: `put_chunk` and `announce` say why.
        """
        return self._sink.has_topics(topics)

    def put_chunk(
        self,
        chunk: Chunk,
        touched: AbstractSet[bytes],
        read_us: int,
        marks: tuple[str, str] = (COPIED, COPIED),
    ) -> tuple[int, int]:
        """Write the rows whose keys are not `touched`, and not kept back.

        `marks` are what `source` says of the first and of the last row.
        Returns how many were written, and how many cannot be written and went to quarantine now.
        Raises as `CopyGuard` does.
        """
        if not chunk.count:
            return 0, 0
        schema = chunk.schema
        left_out = touched | self._copied_rows.fenced_keys(schema)
        # It raises if another table has the topic.
        topic = self._encoder.tables.topic(schema.database, schema.table)
        events = self._encoder.tables.outbox_events(schema)
        if events is None:
            self._target.require_topic(topic)
        first = self._position.between(chunk.count)
        self._announce(schema, first, read_us)
        read_at = replace(self._read_at(first, read_us), first=marks[0], last=marks[1])
        now_us = self._clock.now_us()
        if events is None:
            rows = chunk.publish(self._target, self._options, read_at, left_out, now_us)
        else:
            rows = publish_events(chunk, events, self._target, self._options, read_at, left_out)
        refused = [row for row in chunk.refused if row.key not in left_out]
        self._copied_rows.keep(schema, refused, read_at, _sequence(first), now_us)
        return rows, len(refused)

    def announce(self, schema: TableSchema) -> None:
        """Write the columns of a table whose rows are read by somebody else; make its topic."""
        # It raises if another table has the topic.
        self._target.require_topic(self._encoder.tables.topic(schema.database, schema.table))
        self._announce(schema, self._position.between(1), self._clock.now_us())

    def delete_rows(self, schema: TableSchema, keys: AnySequence[bytes], read_us: int) -> int:
        """Write that the rows with these keys of records are gone, except for kept back keys.

        Returns how many were written. Raises as `CopyGuard` does.
        """
        if self._encoder.tables.outbox_events(schema) is not None:
            # Deletes have no events.
            return 0
        fenced = self._copied_rows.fenced_keys(schema)
        gone = [key for key in keys if key not in fenced]
        if gone:
            self._encoder.tables.topic(schema.database, schema.table)
            first = self._position.between(len(gone))
            self._announce(schema, first, read_us)
            read_at = self._read_at(first, read_us)
            put_deletes(self._target, self._options, schema, gone, read_at, self._clock.now_us())
        return len(gone)

    def put_rows_gone(self, database: str, table: str, schema: TableSchema | None = None) -> None:
        """Write that all earlier rows of a table are gone; do nothing if none were published.

        With a `schema`, write it in any case, after the schema.
        """
        first = self._position.between(1)
        now_us = self._clock.now_us()
        if schema is not None:
            self._announce(schema, first, now_us)
        schema_id = self._encoder.schemas.newest_id(f"{database}.{table}")
        if not schema_id:
            return
        self._encoder.tables.topic(database, table)
        put_truncate(
            self._target,
            self._options,
            database,
            table,
            schema_id,
            self._read_at(first, now_us),
            now_us,
        )

    def replace_rows(self, database: str, table: str) -> None:
        """Write that all earlier rows of a table are gone, because all of it is copied again.

        Its fences are lifted.
        """
        self.put_rows_gone(database, table)
        if self._copied_rows.lift(database, table, self._clock.now_us()):
            name = f"{database}.{table}"
            structlog.get_logger().info("fences are lifted: the table is copied", table=name)

    def put_state(self, state: TableState) -> None:
        self._put_state(state, state.encode())

    def forget_state(self, state: TableState) -> None:
        self._put_state(state, None)

    def _put_state(self, state: TableState, value: bytes | None) -> None:
        key = f"{self._pipeline}/{state.key_part}".encode()
        topic = snapshot_topic(self._options.prefix)
        self._target.take(topic, key, value, NO_HEADERS, self.now_ms)

    def _read_at(self, first: GapSequence, read_us: int) -> CopyPosition:
        position = self._position
        return CopyPosition(
            first.epoch,
            position.file,
            first.file,
            position.position,
            first.number,
            read_us,
            position.time_us,
        )

    def _announce(self, schema: TableSchema, first: GapSequence, time_us: int) -> None:
        self._encoder.schemas.write(schema, _sequence(first), time_us // _US_PER_MS)

    def _log_position(self, file: str, position: int) -> LogPosition | None:
        if not file:
            return None
        number = self._numbers.get(file)
        if number is None:
            self._numbers.clear()
            number = self._numbers[file] = file_number(file)
        return LogPosition(number, position)


def _sequence(first: GapSequence) -> Sequence:
    return Sequence(first.epoch, first.file, first.position, first.event, first.row)
