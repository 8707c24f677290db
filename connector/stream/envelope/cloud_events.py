"""Envelopes as CloudEvents, in structured mode as Debezium's CloudEventsConverter writes them.

::

    {"id":"name:shop;file:binlog.000001;pos:300","source":"/debezium/mysql/shop",…,"iodebeziumop":"
    u   ","iodebeziumversion":…,"iodebeziumrow":   n   ,…,"data":   {"before":…,"after":…}   }

https://debezium.io/documentation/reference/stable/integrations/cloudevents.html
"""

from datetime import UTC, datetime
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.event import Event
from connector.binlog.text_writer import put_uint, quoted
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.source_block import SourceTable

# What closes an envelope without a source, and the event around it.
EVENT_END: Final = b"}}"

_US_PER_MS: Final = 1000
_MS_PER_SECOND: Final = 1000
# The last second of the year 9999: a bad log can hold later times.
_SECONDS_MAX: Final = 253_402_300_799


@final
class CloudEvents:
    """Writes what comes before an envelope, event by event."""

    __slots__ = ("_end", "_middle", "_options", "_start")

    def __init__(self, options: EnvelopeOptions) -> None:
        """Write the events of a pipeline."""
        self._options = options
        self._start = b""
        self._middle = b""
        self._end = b""

    def begin(
        self,
        transaction: SourceTransaction,
        transaction_id: bytes,
        event: Event,
        table: SourceTable,
    ) -> None:
        """Compose the parts that the records of an event share."""
        thread = transaction.thread_id
        self._compose(
            event.file,
            event.position,
            transaction.committed_us,
            table,
            event.server_id,
            b'"%b"' % transaction_id if transaction.gtid is not None else b"null",
            b"null" if thread is None else b'"%d"' % thread,
        )

    def begin_copy(self, file: str, position: i64, read_us: i64, table: SourceTable) -> None:
        """Compose the parts that the rows of a SELECT share, as `SourceBlock.begin_copy`."""
        self._compose(file, position, read_us, table, 0, b"null", b"null")

    def _compose(
        self,
        file: str,
        position: i64,
        time_us: i64,
        table: SourceTable,
        server_id: i64,
        gtid: bytes,
        thread: bytes,
    ) -> None:
        options = self._options
        prefix, connector = options.prefix, options.connector
        seconds, rest = divmod(time_us // _US_PER_MS, _MS_PER_SECOND)
        time = datetime.fromtimestamp(min(seconds, _SECONDS_MAX), UTC)
        self._start = (
            b'{"id":%b,"source":"/debezium/%b/%b","specversion":"1.0",'
            b'"type":"io.debezium.connector.%b.DataChangeEvent","time":"%b.%03dZ",'
            b'"datacontenttype":"application/json","iodebeziumop":"'
        ) % (
            quoted(f"name:{prefix};file:{file};pos:{position}"),
            connector.encode(),
            prefix.encode(),
            connector.encode(),
            time.strftime("%Y-%m-%dT%H:%M:%S").encode(),
            rest,
        )
        self._middle = (
            b'","iodebeziumversion":%b,"iodebeziumconnector":"%b","iodebeziumname":"%b",'
            b'"iodebeziumtsms":"%d","iodebeziumsnapshot":"%b","iodebeziumdb":%b,'
            b'"iodebeziumsequence":null,"iodebeziumtsus":"%d","iodebeziumtsns":"%d",'
            b'"iodebeziumtable":%b,"iodebeziumserverid":"%d","iodebeziumgtid":%b,'
            b'"iodebeziumfile":%b,"iodebeziumpos":"%d","iodebeziumrow":'
        ) % (
            quoted(options.version),
            connector.encode(),
            prefix.encode(),
            time_us // _US_PER_MS,
            table.snapshot,
            table.quoted_database,
            time_us,
            int(time_us) * _US_PER_MS,
            table.quoted_table,
            server_id,
            gtid,
            quoted(file),
            position,
        )
        self._end = (
            b',"iodebeziumthread":%b,"iodebeziumquery":null,"iodebeziumtxid":null,'
            b'"iodebeziumtxtotalorder":null,"iodebeziumtxdatacollectionorder":null,"data":' % thread
        )

    def put(self, out: BytesWriter, op: i64, row: i64) -> None:
        """Append what comes before the envelope of row `row` of the event; `op` is the letter."""
        out.write(self._start)
        out.append(u8(op))
        out.write(self._middle)
        put_uint(out, row)
        out.write(self._end)
