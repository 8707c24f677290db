"""`dump --format envelope`: the Kafka records that `run` would write, one JSON object a line.

::

    {"topic":"cdc.shop.orders","key":{"id":1},"value":{…},"headers":{"cdc.seq": "0001…", …}}

Keys and values are the JSON of the records, or null; the key of a schema record is text. As in
Kafka, a transaction is visible once it is complete: its lines wait for its end, and an incomplete
one at the end of a log has no records. As in `run`, the body of an event is decoded only if the
records need it.

The order of the records is made from the number at the end of a log's name. A file without one, and
standard input, is called NAME.000001, NAME.000002, … in the order in which such files are given.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import IO, Final, final

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i64, u8

from connector.binlog.event import Event, TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.header import FIRST_POSITION, file_number
from connector.binlog.table_filter import TableFilter
from connector.binlog.text_writer import QUOTE, put_utf8, quoted
from connector.foundation import VERSION
from connector.foundation.errors import UnsupportedChange
from connector.foundation.kafka_records import RecordTarget, read_varint
from connector.foundation.operating_system import TemporaryFolder
from connector.logs.output import NOTHING_HELD, ByteFormat, LineOutput
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.column_lists import KnownColumns, PublishedColumns
from connector.stream.changes.receiver import ChangeReceiver, TransactionEnd
from connector.stream.changes.row_buffer import SpoolFolder
from connector.stream.changes.transaction import RowsChange, SourceTransaction, StatementChange
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.sequences import TransactionOrder

_NULL: Final = b"null"
# What is between two headers, `", "`, and in one, `": "`; the first character in the lowest byte.
_NEXT_NAME: Final = 0x2220_2C22
_VALUE: Final = 0x2220_3A22
# From here on, a length has more than one byte.
_LONG: Final = 0x80

# Bytes of an open transaction that stay in memory; more wait in a temporary file.
_HELD_BYTES_MAX: Final = 4 * 1024 * 1024
_COPY_BYTES: Final = 1024 * 1024


@final
class RecordLines(RecordTarget):
    """Appends lines to an output, which holds them until their transaction is complete."""

    def __init__(self, schema_topic: str, folder: SpoolFolder, output: LineOutput) -> None:
        """Write to `output`; a large transaction waits in a file of `folder`."""
        self.output = output
        self._schema_topic = schema_topic
        self._folder = folder
        self._file: IO[bytes] | None = None  # the lines before those that are held
        self._starts: dict[str, bytes] = {}  # of lines, by topic
        self._topic = ""
        self._start = self._start_of("")

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Append the line of a record."""
        del timestamp_ms
        output = self.output
        out = output.block
        if output.held == NOTHING_HELD:
            output.held = len(out)
        if topic != self._topic:
            self._topic = topic
            self._start = self._start_of(topic)
        out.write(self._start)
        if key is None:
            out.write(_NULL)
        elif topic == self._schema_topic:
            out.write(quoted(key.decode()))
        else:
            out.write(key)
        out.write(b',"value":')
        out.write(_NULL if value is None else value)
        out.write(b',"headers":{')
        _put_headers(out, headers)
        out.write(b"}}\n")
        if len(out) - output.held > _HELD_BYTES_MAX:
            self._spool()

    def move_to(self, output: LineOutput) -> None:
        """Let another output hold the lines, and take the next ones."""
        held = self.output.take_held()
        if held:
            output.held = len(output.block)
            output.block.write(held)
        self.output = output

    def release(self, *, rows: bool) -> None:
        """Hold no lines any more; without `rows`, only those of schemas stay in the output."""
        output = self.output
        file = self._file
        if not rows:
            self._release_schemas(output.take_held())
        elif file is None:
            output.held = NOTHING_HELD
        else:
            held = output.take_held()
            file.seek(0)
            while block := file.read(_COPY_BYTES):
                output.block.write(block)
                output.give_way()
            output.block.write(held)
        self._drop_file()

    def close(self) -> None:
        """Drop the lines."""
        self.output.take_held()
        self._drop_file()

    def _drop_file(self) -> None:
        file = self._file
        if file is not None:
            file.seek(0)
            file.truncate()
            file.close()
            self._file = None

    def _start_of(self, topic: str) -> bytes:
        start = self._starts.get(topic)
        if start is None:
            start = b'{"topic":%b,"key":' % json.dumps(topic).encode()
            self._starts[topic] = start
        return start

    def _spool(self) -> None:
        """Move the lines to the file."""
        if self._file is None:
            self._file = self._folder.open()
        self._file.write(self.output.take_held())

    def _release_schemas(self, held: bytes) -> None:
        out = self.output.block
        start = self._start_of(self._schema_topic)
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                if line.startswith(start):
                    out.write(line)
        for line in held.splitlines(keepends=True):
            if line.startswith(start):
                out.write(line)


def _put_headers(out: BytesWriter, headers: bytes) -> None:
    """Append the members of the object; names and values are text."""
    count, at = read_varint(headers, 0)
    if count == 0:
        return
    out.append(u8(QUOTE))
    number: i64 = 0
    while number < count:
        if number:
            write_i32_le(out, _NEXT_NAME)
        at = _put_text(out, headers, at)
        write_i32_le(out, _VALUE)
        at = _put_text(out, headers, at)
        number += 1
    out.append(u8(QUOTE))


def _put_text(out: BytesWriter, headers: bytes, at: i64) -> i64:
    """Append the text that follows its length at `at`, without quotes; return where it ends."""
    start: i64 = at + 1
    length: i64 = headers[at]
    if length < _LONG:
        # Nearly always: one byte, of which the lowest bit is the sign.
        length >>= 1
    else:
        length, start = read_varint(headers, at)
    end = start + length
    put_utf8(out, headers, start, end)
    return end


@final
class FileNumbers:
    """Gives a number to each file whose name ends in none."""

    def __init__(self) -> None:
        self._count = 0  # of files that got a number
        self._given = ""  # name of the current file,
        self._name = ""  # and the same with a number

    def numbered(self, event: Event) -> Event:
        """Return the event with a file name that ends in a number."""
        if event.position == FIRST_POSITION or event.file != self._given:
            self._given = event.file
            self._name = self._with_number(event.file)
        if event.file == self._name:
            return event
        return _in_file(self._name, event)

    def _with_number(self, file: str) -> str:
        try:
            file_number(file)
        except UnsupportedChange:
            self._count += 1
            return f"{file}.{self._count:06d}"
        return file


def _in_file(name: str, event: Event) -> Event:
    body = event.body
    if isinstance(body, TransactionPayloadEvent):
        view = body.view or iter

        def in_file(events: Iterator[Event]) -> Iterator[Event]:
            return (inner.in_file(name) for inner in view(events))

        body = replace(body, view=in_file)
    return event.with_body(body).in_file(name)


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
            tables, self._changes, folder, columns=_SchemaRecordColumns(self._changes)
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

    def transaction_end(self, end: TransactionEnd) -> None:
        del end
        self.complete = True

    def rollback(self, transaction: SourceTransaction) -> None:
        del transaction
        self.taken_back = True


@final
class _SchemaRecordColumns(PublishedColumns):
    """The columns in the schema records of the encoder."""

    def __init__(self, changes: _Changes) -> None:
        self._changes = changes

    def known(self, database: str, table: str) -> KnownColumns | None:
        encoder = self._changes.encoder
        return None if encoder is None else encoder.schemas.known(database, table)
