"""The `source` block: the end of the envelope, nearly the same for all rows of an event.

::

    ,"source":{"version":…,"pos":300,"row":   n   ,"thread":9,…},"transaction":null,"op":"   u
    ","ts_ms":…,"ts_us":…,"ts_ns":…}
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.event import Event
from connector.binlog.text_writer import QUOTE, put_uint, quoted
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.envelope.options import EnvelopeOptions

_US_PER_MS: Final = 1000
_UNKNOWN: Final = -1  # the thread number of an unknown session


@final
class SourceTable:
    """The table's part of the source block."""

    __slots__ = ("database", "quoted_database", "quoted_table", "snapshot", "table")

    def __init__(self, database: str, table: str, snapshot: str = "false") -> None:
        """Compose the parts; `snapshot` is another text if rows come from a SELECT."""
        self.snapshot = snapshot.encode()
        self.quoted_database = quoted(database)
        self.quoted_table = quoted(table)
        self.database = b',"snapshot":"%b","db":%b,"sequence":null,"ts_us":' % (
            self.snapshot,
            self.quoted_database,
        )
        self.table = b',"table":%b,"server_id":' % self.quoted_table


@final
class SourceBlock:
    """Writes the ends of envelopes, event by event."""

    __slots__ = (
        "_close",
        "_end",
        "_file",
        "_file_name",
        "_gtid",
        "_is_first",
        "_now_us",
        "_out",
        "_position",
        "_server_id",
        "_start",
        "_table",
        "_thread_id",
        "_time_us",
        "_times",
        "_version",
    )

    def __init__(self, options: EnvelopeOptions) -> None:
        """Compose the parts that all records share."""
        self._version = (
            f',"source":{{"version":"{options.version}","connector":"{options.connector}",'
            f'"name":"{options.prefix}","ts_ms":'
        ).encode()
        form = options.debezium
        self._close = b"}" if form is None else form.value_close
        self._out = BytesWriter()
        self._file_name = ""
        self._file = _file("")
        self._now_us: i64 = -1
        # Of the current event.
        self._time_us: i64 = 0
        self._gtid: bytes | None = None
        self._table = SourceTable("", "")
        self._server_id: i64 = 0
        self._position: i64 = 0
        self._is_first = True  # whether no row has been written,
        self._start = b""  # and what comes before the numbers of rows, from the second one on
        self._thread_id: i64 = _UNKNOWN
        self._end = _end(_UNKNOWN)
        self._times = b""

    def begin(
        self,
        transaction: SourceTransaction,
        transaction_id: bytes,
        event: Event,
        table: SourceTable,
        now_us: i64,
    ) -> None:
        """Compose the parts that the records of an event share; `now_us` is the encoding time."""
        if now_us != self._now_us:
            self._now_us = now_us
            self._times = self._encoded_times(now_us)
        thread_id: i64 = _UNKNOWN if transaction.thread_id is None else transaction.thread_id
        if thread_id != self._thread_id:
            self._thread_id = thread_id
            self._end = _end(thread_id)
        self._enter(
            transaction.committed_us,
            transaction_id if transaction.gtid is not None else None,
            table,
            event.server_id,
            event.file,
            event.position,
        )

    def begin_copy(
        self, file: str, position: i64, time_us: i64, table: SourceTable, now_us: i64
    ) -> None:
        """Compose the parts that the rows of a SELECT share.

        The rows include all changes of `file` up to `position`, where the source was at `time_us`.
        """
        if now_us != self._now_us:
            self._now_us = now_us
            self._times = self._encoded_times(now_us)
        if self._thread_id != _UNKNOWN:
            self._thread_id = _UNKNOWN
            self._end = _end(_UNKNOWN)
        self._enter(time_us, None, table, 0, file, position)

    def _enter(
        self,
        time_us: i64,
        gtid: bytes | None,
        table: SourceTable,
        server_id: i64,
        file: str,
        position: i64,
    ) -> None:
        if file != self._file_name:
            self._file_name = file
            self._file = _file(file)
        self._time_us = time_us
        self._gtid = gtid
        self._table = table
        self._server_id = server_id
        self._position = position
        self._is_first = True

    def put(self, out: BytesWriter, op: i64, row: i64) -> None:
        """Append the end of the envelope of row `row` of the event; `op` is the letter."""
        if self._is_first:
            # Mostly the only one.
            self._is_first = False
            self._start = b""
            self._put_start(out)
        else:
            if len(self._start) == 0:
                self._out.truncate(0)
                self._put_start(self._out)
                self._start = self._out.getvalue()
            out.write(self._start)
        put_uint(out, row)
        out.write(self._end)
        out.append(u8(op))
        out.write(self._times)

    def _put_start(self, out: BytesWriter) -> None:
        time_us = self._time_us
        table = self._table
        gtid = self._gtid
        out.write(self._version)
        put_uint(out, time_us // _US_PER_MS)
        out.write(table.database)
        put_uint(out, time_us)
        out.write(b',"ts_ns":')
        _put_ns(out, time_us)
        out.write(table.table)
        put_uint(out, self._server_id)
        if gtid is None:
            out.write(b',"gtid":null')
        else:
            out.write(b',"gtid":"')
            out.write(gtid)
            out.append(u8(QUOTE))
        out.write(self._file)
        put_uint(out, self._position)
        out.write(b',"row":')

    def _encoded_times(self, now_us: i64) -> bytes:
        out = self._out
        out.truncate(0)
        out.write(b'","ts_ms":')
        put_uint(out, now_us // _US_PER_MS)
        out.write(b',"ts_us":')
        put_uint(out, now_us)
        out.write(b',"ts_ns":')
        _put_ns(out, now_us)
        out.write(self._close)
        return out.getvalue()


def _file(name: str) -> bytes:
    return b',"file":%b,"pos":' % quoted(name)


def _end(thread_id: i64) -> bytes:
    """Return the text between the number of the row and its operation."""
    thread = "null" if thread_id == _UNKNOWN else str(thread_id)
    return f',"thread":{thread},"query":null}},"transaction":null,"op":"'.encode()


def _put_ns(out: BytesWriter, time_us: i64) -> None:
    # A bad log can hold times whose nanoseconds exceed 64 bits.
    put_uint(out, time_us)
    if time_us:
        out.write(b"000")
