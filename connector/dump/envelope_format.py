"""`dump --format envelope`: the Kafka records that `run` would write, one JSON object a line.

::

    {"topic": …, "key": … or null, "value": … or null, "headers": {name: text, …}}

Keys and values are the JSON of the records; the key of a schema record is text. As in Kafka, a
transaction is visible once it is complete: an incomplete one at the end of a log has no records.

The order of the records is made from the number at the end of a log's name. A file without one, and
standard input, is called NAME.000001, NAME.000002, … in the order in which such files are given.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import version
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.framing.log_position import FIRST_POSITION
from connector.changes.assembler import TransactionAssembler
from connector.changes.known_columns import PublishedColumns
from connector.changes.receiver import ChangeReceiver
from connector.envelope.options import EnvelopeOptions
from connector.envelope.record_encoder import RecordEncoder
from connector.envelope.schemas.table_schema import schema_topic
from connector.errors import UnsupportedChange
from connector.progress.order import TransactionOrder, file_number
from connector.records.record import RecordTarget, decode_headers
from connector.system.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from connector.binlog.event import Event
    from connector.changes.known_columns import KnownColumns
    from connector.changes.receiver import Committed
    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import RowsChange, SourceTransaction, StatementChange

# Bytes of an open transaction that stay in memory; the rest waits in a temporary file.
_HELD_BYTES_MAX = 16 * 1024 * 1024


class EnvelopeWriter:
    """Writes the records of followed tables."""

    def __init__(self, prefix: str, tables: TableFilter, now_us: Callable[[], int]) -> None:
        """Begin a stream; `now_us` returns the time of encoding, microseconds since the epoch."""
        self._prefix = prefix
        self._held = _HeldLines(prefix)
        self._changes = _Changes(now_us)
        self._assembler = TransactionAssembler(
            tables, self._changes, TemporaryFolder(), columns=_WrittenColumns(self._changes)
        )
        self._files = _FileNumbers()

    def begin(self) -> Iterable[str]:
        """Return no lines: the records need no head."""
        return ()

    def event(self, event: Event) -> Iterator[str]:
        """Yield the records of the transaction that the event completes.

        Raises UnsupportedChange for a change that `run` would refuse, EventError for a row that
        cannot be read.
        """
        if self._changes.encoder is None:
            body = event.body
            mariadb = isinstance(body, FormatDescriptionEvent) and body.mariadb
            self._changes.encoder = self._new_encoder(mariadb=mariadb)
        self._assembler.receive(self._files.numbered(event))
        if self._changes.complete:
            rows = not self._changes.taken_back
            self._changes.complete = self._changes.taken_back = False
            yield from self._held.release(rows=rows)

    def end(self) -> Iterable[str]:
        """Return no lines; an open transaction is dropped."""
        self._held.close()
        return ()

    def _new_encoder(self, *, mariadb: bool) -> RecordEncoder:
        options = EnvelopeOptions(
            prefix=self._prefix,
            connector="mariadb" if mariadb else "mysql",
            version=version("binlog-connector"),
        )
        return RecordEncoder(options, TransactionOrder(), self._held)


class _Changes(ChangeReceiver):
    """Gives the changes to the encoder, and notes the end of their transaction."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.encoder: RecordEncoder | None = None  # from the first event on
        self.complete = False
        self.taken_back = False  # whether the rows of the current transaction were rolled back

    def rows(self, change: RowsChange) -> None:
        assert self.encoder is not None
        self.encoder.rows(change, self._now_us())

    def ddl(self, changes: list[StatementChange]) -> None:
        assert self.encoder is not None
        self.encoder.ddl(changes, self._now_us())

    def statement(self, change: StatementChange) -> None:
        assert self.encoder is not None
        self.encoder.statement(change, self._now_us())

    def committed(self, committed: Committed) -> None:
        del committed
        self.complete = True

    def rolled_back(self, transaction: SourceTransaction) -> None:
        del transaction
        self.taken_back = True


class _WrittenColumns(PublishedColumns):
    """The columns in the schema records of the encoder."""

    def __init__(self, changes: _Changes) -> None:
        self._changes = changes

    def known(self, database: str, table: str) -> KnownColumns | None:
        encoder = self._changes.encoder
        return None if encoder is None else encoder.schemas.known(database, table)


class _HeldLines(RecordTarget):
    """Holds the lines of a transaction until it is complete."""

    def __init__(self, prefix: str) -> None:
        self._schema_topic = schema_topic(prefix)
        # Closed by `close`.
        self._file = SpooledTemporaryFile(  # noqa: SIM115
            max_size=_HELD_BYTES_MAX, mode="w+", encoding="utf-8", newline="\n"
        )

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: int
    ) -> None:
        del timestamp_ms
        key_text = "null" if key is None else key.decode()
        if topic == self._schema_topic:
            key_text = json.dumps(key_text, ensure_ascii=False)
        value_text = "null" if value is None else value.decode()
        texts = {name: text.decode() for name, text in decode_headers(headers)}
        self._file.write(
            f'{{"topic":{json.dumps(topic)},"key":{key_text},"value":{value_text},'
            f'"headers":{json.dumps(texts, ensure_ascii=False)}}}\n'
        )

    def release(self, *, rows: bool) -> Iterator[str]:
        """Yield and drop the lines; without `rows`, only those of schemas."""
        self._file.seek(0)
        schema = f'{{"topic":{json.dumps(self._schema_topic)},'
        for line in self._file:
            if rows or line.startswith(schema):
                yield line.removesuffix("\n")
        self._file.seek(0)
        self._file.truncate()

    def close(self) -> None:
        """Drop the lines."""
        self._file.close()


class _FileNumbers:
    """Gives a number to each file whose name ends in none."""

    def __init__(self) -> None:
        self._given = ""  # name of the current file,
        self._name = ""  # and the same with a number
        self._count = 0

    def numbered(self, event: Event) -> Event:
        """Return the event with a file name that ends in a number."""
        if event.file != self._given or event.position == FIRST_POSITION:
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
            return (each.in_file(name) for each in view(events))

        body = replace(body, view=in_file)
    return event.with_body(body).in_file(name)
