"""Rows without an envelope, as Debezium's ExtractNewRecordState makes them.

::

    {"id":1,"price":"17.50",   "__deleted":"false","__op":"u","__source_ts_ms":…}
    └─────── the row ──────┘   └─────────────── the fields ────────────────────┘

https://debezium.io/documentation/reference/stable/transformations/event-flattening.html
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.event import Event
from connector.binlog.text_writer import QUOTE, put_uint, quoted
from connector.foundation.contract import OP_DELETE
from connector.foundation.record_formats import OF_ENVELOPE
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.source_block import SourceTable

# What `put` writes for a field: its value of the event, or one of the row.
_OF_EVENT: Final = 0
_OP: Final = 1
_ROW: Final = 2

_KINDS: Final = {"op": _OP, "source.row": _ROW}

_SOURCE: Final = "source."
_TIMES: Final = ("ts_ms", "ts_us", "ts_ns")

_DELETE: Final = ord(OP_DELETE)
_US_PER_MS: Final = 1000
_NULL: Final = b"null"


def added_name(name: str) -> str:
    """Return the name that a field of `FLAT_FIELDS` has in records."""
    return f"__{name.replace('.', '_')}"


@final
class FlatFields:
    """Writes the ends of rows without an envelope, event by event."""

    __slots__ = (
        "_end",
        "_file",
        "_gtid",
        "_heads",
        "_kinds",
        "_names",
        "_now_us",
        "_options",
        "_position",
        "_server_id",
        "_session",
        "_table",
        "_tells_deletes",
        "_time_us",
        "_values",
    )

    def __init__(self, options: EnvelopeOptions) -> None:
        """Compose the parts that all records share; the form is flat."""
        form = options.debezium
        assert form is not None
        self._options = options
        self._tells_deletes = form.tells_deletes
        self._end = form.value_close
        self._names = [_full_name(name) for name in form.flat_fields]
        self._heads = [b"," + quoted(added_name(name)) + b":" for name in form.flat_fields]
        self._kinds = [_KINDS.get(name, _OF_EVENT) for name in self._names]
        self._values = [_NULL for _ in self._names]
        self._table: SourceTable | None = None
        self._time_us: i64 = 0
        self._now_us: i64 = 0
        self._server_id: i64 = 0
        self._position: i64 = 0
        self._file = ""
        self._gtid = _NULL
        self._session = _NULL

    def begin(
        self,
        transaction: SourceTransaction,
        transaction_id: bytes,
        event: Event,
        table: SourceTable,
        now_us: i64,
    ) -> None:
        """Compose the parts that the records of an event share; `now_us` is the encoding time."""
        thread = transaction.thread_id
        self._gtid = b'"%b"' % transaction_id if transaction.gtid is not None else _NULL
        self._session = _NULL if thread is None else str(thread).encode()
        self._server_id = event.server_id
        self._compose(event.file, event.position, transaction.committed_us, table, now_us)

    def begin_copy(
        self, file: str, position: i64, read_us: i64, table: SourceTable, now_us: i64
    ) -> None:
        """Compose the parts that the rows of a SELECT share, as `SourceBlock.begin_copy`."""
        self._compose(file, position, read_us, table, now_us)

    def _compose(
        self, file: str, position: i64, time_us: i64, table: SourceTable, now_us: i64
    ) -> None:
        self._file = file
        self._position = position
        self._time_us = time_us
        self._table = table
        self._now_us = now_us
        self._values = [self._value(name) for name in self._names]

    def _value(self, name: str) -> bytes:
        """Return a value of the event, as JSON."""
        if name in _TIMES:
            return _time(name, self._now_us)
        if name[len(_SOURCE) :] in _TIMES:
            return _time(name[len(_SOURCE) :], self._time_us)
        if name == "source.pos":
            return _number(self._position)
        if name == "source.server_id":
            return _number(self._server_id)
        if name == "source.gtid":
            return self._gtid
        if name == "source.thread":
            return self._session
        if name == "source.file":
            return quoted(self._file)
        return self._constant(name)

    def _constant(self, name: str) -> bytes:
        """Return a value of the table or of the pipeline; a row has its own."""
        table = self._table
        assert table is not None
        if name == "source.db":
            return table.quoted_database
        if name == "source.table":
            return table.quoted_table
        if name == "source.snapshot":
            # `false` is the default, which Debezium does not take over.
            return _NULL if table.snapshot == b"false" else b'"%b"' % table.snapshot
        if name == "source.version":
            return quoted(self._options.version)
        if name == "source.connector":
            return quoted(self._options.connector)
        return quoted(self._options.prefix) if name == "source.name" else _NULL

    def put(self, out: BytesWriter, op: i64, row: i64) -> None:
        """Append the fields of row `row` of the event, and the end; `op` is the letter."""
        if self._tells_deletes:
            out.write(b',"__deleted":"true"' if op == _DELETE else b',"__deleted":"false"')
        values = self._values
        for index, head in enumerate(self._heads):
            out.write(head)
            kind = self._kinds[index]
            if kind == _OF_EVENT:
                out.write(values[index])
            elif kind == _ROW:
                put_uint(out, row)
            else:
                out.append(u8(QUOTE))
                out.append(u8(op))
                out.append(u8(QUOTE))
        out.write(self._end)


def _full_name(name: str) -> str:
    """Return the name of a field with its struct: `source.table` for `table`."""
    return name if name in OF_ENVELOPE or name.startswith(_SOURCE) else _SOURCE + name


def _time(name: str, time_us: i64) -> bytes:
    if name == "ts_ms":
        return _number(time_us // _US_PER_MS)
    return _number(time_us) + (b"000" if name == "ts_ns" and time_us else b"")


def _number(value: i64) -> bytes:
    out = BytesWriter()
    put_uint(out, value)
    return out.getvalue()
