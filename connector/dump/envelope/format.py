"""`dump --format envelope`: the Kafka records that `run` would write, one JSON object a line.

::

    {"topic": …, "key": … or null, "value": … or null, "headers": {name: text, …}}

Keys and values are the JSON of the records; the key of a schema record is text. As in Kafka, a
transaction is visible once it is complete: an incomplete one at the end of a log has no records.
As in `run`, the body of an event is decoded only if the records need it.

The order of the records is made from the number at the end of a log's name. A file without one, and
standard input, is called NAME.000001, NAME.000002, … in the order in which such files are given.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, final

from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.framing.log_position import FIRST_POSITION
from connector.changes.assembler import TransactionAssembler
from connector.changes.known_columns import PublishedColumns
from connector.changes.receiver import ChangeReceiver
from connector.contract.version import VERSION
from connector.dump.envelope.file_numbers import FileNumbers
from connector.dump.envelope.record_lines import RecordLines
from connector.dump.lines.byte_format import ByteFormat
from connector.dump.lines.output import LineOutput
from connector.envelope.options import EnvelopeOptions
from connector.envelope.record_encoder import RecordEncoder
from connector.envelope.schemas.table_schema import schema_topic
from connector.progress.order import TransactionOrder
from connector.system.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.known_columns import KnownColumns
    from connector.changes.receiver import Committed
    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import RowsChange, SourceTransaction, StatementChange


@final
class EnvelopeFormat(ByteFormat):
    """Writes the records of followed tables."""

    def __init__(self, prefix: str, tables: TableFilter, now_us: Callable[[], int]) -> None:
        """Begin a stream; `now_us` returns the time of encoding, microseconds since the epoch."""
        folder = TemporaryFolder()
        self._prefix = prefix
        self._now_us = now_us
        self._lines = RecordLines(schema_topic(prefix), folder, LineOutput(BytesIO()))
        self._changes = _Changes()
        self._assembler = TransactionAssembler(
            tables, self._changes, folder, columns=_WrittenColumns(self._changes)
        )
        self._files = FileNumbers()
        self._numbered = ""  # the name of the current file, which ends in a number

    def received(self) -> None:
        """Take the time of encoding for the next events."""
        self._changes.now_us = self._now_us()

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the records of the transaction that the event completes.

        Raises UnsupportedChange for a change that `run` would refuse, EventError for a row that
        cannot be read.
        """
        changes = self._changes
        if self._lines.output is not output:
            self._lines.move_to(output)
        if changes.encoder is None:
            body = event.body
            mariadb = isinstance(body, FormatDescriptionEvent) and body.mariadb
            changes.encoder = self._new_encoder(mariadb=mariadb)
        if event.file is not self._numbered or event.position == FIRST_POSITION:
            event = self._files.numbered(event)
            self._numbered = event.file
        self._assembler.receive(event)
        if changes.complete:
            rows = not changes.taken_back
            changes.complete = changes.taken_back = False
            self._lines.release(rows=rows)

    def end(self) -> Iterable[str]:
        """Drop an open transaction."""
        self._lines.close()
        self._assembler.close()
        return ()

    def _new_encoder(self, *, mariadb: bool) -> RecordEncoder:
        options = EnvelopeOptions(
            prefix=self._prefix,
            connector="mariadb" if mariadb else "mysql",
            version=VERSION,
        )
        return RecordEncoder(options, TransactionOrder(), self._lines)


@final
class _Changes(ChangeReceiver):
    """Gives the changes to the encoder, and notes the end of their transaction."""

    def __init__(self) -> None:
        self.now_us: i64 = 0
        self.encoder: RecordEncoder | None = None  # from the first event on
        self.complete = False
        self.taken_back = False  # whether the rows of the current transaction were rolled back

    def rows(self, change: RowsChange) -> None:
        assert self.encoder is not None
        self.encoder.rows(change, self.now_us)

    def ddl(self, changes: list[StatementChange]) -> None:
        assert self.encoder is not None
        self.encoder.ddl(changes, self.now_us)

    def statement(self, change: StatementChange) -> None:
        assert self.encoder is not None
        self.encoder.statement(change, self.now_us)

    def committed(self, committed: Committed) -> None:
        del committed
        self.complete = True

    def rolled_back(self, transaction: SourceTransaction) -> None:
        del transaction
        self.taken_back = True


@final
class _WrittenColumns(PublishedColumns):
    """The columns in the schema records of the encoder."""

    def __init__(self, changes: _Changes) -> None:
        self._changes = changes

    def known(self, database: str, table: str) -> KnownColumns | None:
        encoder = self._changes.encoder
        return None if encoder is None else encoder.schemas.known(database, table)
