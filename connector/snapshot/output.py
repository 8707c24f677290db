"""What copies write, between two source transactions, and where the stream stands then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import Sequence
from connector.envelope.copied.selected_chunk import CopyPosition
from connector.envelope.rows_gone import put_rows_gone
from connector.gtid import GtidSet
from connector.progress.order import file_number
from connector.records.record import NO_HEADERS
from connector.snapshot.table_state import snapshot_topic
from connector.snapshot.watermark import Delivered, LogPosition

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from connector.binlog.decoder import EventDecoder
    from connector.envelope.copied.selected_chunk import Chunk
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.record_encoder import RecordEncoder
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.progress.between import BetweenPlace
    from connector.progress.stream_position import StreamPosition
    from connector.quarantine.core.copied_rows import CopiedRows
    from connector.records.record import RecordTarget
    from connector.snapshot.table_state import TableState
    from connector.system.clock import Clock

_NS_PER_US = 1000
_US_PER_MS = 1000


class CopyOutput:
    """Gives records to the sink, in the name of one pipeline.

    What writes raises what the target raises, and UnsupportedChange where a place has no number.
    """

    def __init__(
        self,
        pipeline: str,
        options: EnvelopeOptions,
        encoder: RecordEncoder,
        target: RecordTarget,
        copied_rows: CopiedRows,
        standing: StreamPosition,
        decoder: EventDecoder,
        clock: Clock,
    ) -> None:
        """Write to `target`, where the stream of the other arguments stands."""
        self.watch = encoder.watch
        self._pipeline = pipeline
        self._options = options
        self._encoder = encoder
        self._target = target
        self._copied_rows = copied_rows
        self._standing = standing
        self._decoder = decoder
        self._clock = clock
        self._numbers: dict[str, int] = {}

    @property
    def now_us(self) -> int:
        """The time, microseconds since the epoch."""
        return self._clock.time_ns() // _NS_PER_US

    @property
    def now_ms(self) -> int:
        """The time, milliseconds since the epoch."""
        return self.now_us // _US_PER_MS

    @property
    def seconds(self) -> float:
        """The time of a clock that never goes back."""
        return self._clock.monotonic()

    @property
    def position(self) -> LogPosition | None:
        """Up to where the source's log was delivered; None before the server has named a file.

        It holds between two transactions; within one, it is a little ahead.
        """
        read = self._decoder.log_position
        delivered = self.transaction_end
        # Events between transactions move what is read, not where the stream stands.
        came = self._log_position(read.file, read.position)
        if delivered is None or came is None:
            return delivered or came
        return max(delivered, came)

    @property
    def transaction_end(self) -> LogPosition | None:
        """Where the last transaction ends; None where that is not known."""
        return self._log_position(self._standing.file, self._standing.position)

    @property
    def delivered(self) -> Delivered:
        """What the stream has delivered."""
        gtids = self._standing.gtid_set
        return Delivered(str(gtids) if isinstance(gtids, GtidSet) else None, self.position)

    def put_chunk(self, chunk: Chunk, touched: AbstractSet[bytes], read_us: int) -> tuple[int, int]:
        """Write the rows whose keys are not `touched`, and not kept back.

        Returns how many were written, and how many cannot be and were kept back now. Raises what
        `CopiedRows` does.
        """
        if not chunk.count:
            return 0, 0
        schema = chunk.schema
        left_out = touched | self._copied_rows.fenced_keys(schema)
        # Refuses a topic that another table has.
        self._encoder.tables.topic(schema.database, schema.table)
        place = self._standing.between(chunk.count)
        self._announce(schema, place, read_us)
        copy_place = CopyPosition(
            place.epoch, self._standing.file, place.file, place.position + 1, place.number, read_us
        )
        now_us = self.now_us
        rows = chunk.publish(self._target, self._options, copy_place, left_out, now_us)
        refused = [row for row in chunk.refused if row.key not in left_out]
        self._copied_rows.keep(schema, refused, copy_place, _sequence(place), now_us)
        return rows, len(refused)

    def put_rows_gone(self, database: str, table: str, schema: TableSchema | None = None) -> None:
        """Write that all earlier rows of a table are gone; nothing where none were published.

        With a `schema` it is written in any case, behind that.
        """
        place = self._standing.between(1)
        if schema is not None:
            self._announce(schema, place, self.now_us)
        schema_id = self._encoder.schemas.newest_id(f"{database}.{table}")
        if not schema_id:
            return
        self._encoder.tables.topic(database, table)
        put_rows_gone(
            self._target,
            self._options,
            database,
            table,
            schema_id,
            self._standing.file,
            place,
            self.now_us,
        )

    def put_state(self, state: TableState) -> None:
        """Write how far a copy is."""
        self._put_state(state, state.encode())

    def forget_state(self, state: TableState) -> None:
        """Write that nothing is known of a copy."""
        self._put_state(state, None)

    def _put_state(self, state: TableState, value: bytes | None) -> None:
        key = f"{self._pipeline}/{state.key_part}".encode()
        topic = snapshot_topic(self._options.prefix)
        self._target.take(topic, key, value, NO_HEADERS, self.now_ms)

    def _announce(self, schema: TableSchema, place: BetweenPlace, time_us: int) -> None:
        self._encoder.schemas.write(schema, _sequence(place), time_us // _US_PER_MS)

    def _log_position(self, file: str, position: int) -> LogPosition | None:
        if not file:
            return None
        number = self._numbers.get(file)
        if number is None:
            self._numbers.clear()
            number = self._numbers[file] = file_number(file)
        return LogPosition(number, position)


def _sequence(place: BetweenPlace) -> Sequence:
    return Sequence(place.epoch, place.file, place.position, place.event, place.row)
