"""The headers of a record: its sequence, operation, schema and transaction.

In a topic to which other pipelines may write, there is the name of the pipeline, too.

They have the form that `connector/foundation/kafka_records.py` writes. Within one event they
differ only in the operation and in the last digits of the sequence.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.text_writer import put_padded
from connector.foundation import contract
from connector.foundation.kafka_records import put_header, put_varint


def _header(name: str, value: bytes) -> bytes:
    out = BytesWriter()
    put_header(out, name.encode(), value)
    return out.getvalue()


def _sequence_start(headers: i64) -> bytes:
    out = BytesWriter()
    put_varint(out, headers)
    put_varint(out, len(contract.HEADER_SEQ))
    out.write(contract.HEADER_SEQ.encode())
    put_varint(out, contract.SEQ_DIGITS)
    return out.getvalue()


_HEADERS: Final = 4
_NULL_LENGTH: Final = -1
_START: Final = _sequence_start(_HEADERS)
# A count of headers is one byte; each further header adds to it.
_COUNT: Final = _START[0]
_EACH: Final = _sequence_start(_HEADERS + 1)[0] - _COUNT
_OP: Final = _header(contract.HEADER_OP, b" ")[:-1]  # without the letter
_TRANSACTION: Final = _header(contract.HEADER_TXN, b"")[:-1]  # without the length
# Where the headers of a row have the letter of its operation.
OP_AT: Final = len(_START) + contract.SEQ_DIGITS + len(_OP)


@final
class TableHeaders:
    """The headers that all records of a column list share."""

    __slots__ = ("encoded", "more")

    def __init__(self, schema_id: str, pipeline: str = "") -> None:
        """Encode the id of the column list, and `pipeline` if it is not empty."""
        self.encoded = _header(contract.HEADER_SCHEMA, schema_id.encode())
        self.more: i64 = 0  # headers that the records of other tables do not have
        if pipeline:
            self.encoded += _header(contract.HEADER_PIPELINE, pipeline.encode())
            self.more = 1


@final
class RecordHeaders:
    """Writes the headers of records, event by event."""

    __slots__ = ("_event_end", "_more", "_out", "_table", "_transaction_id")

    def __init__(self) -> None:
        self._out = BytesWriter()
        self._event_end: i64 = 0  # length of the digits that all records of the event share
        self._more: i64 = 0
        self._table = b""
        self._transaction_id = b""

    def begin(
        self,
        epoch: i64,
        file: i64,
        position: i64,
        event_number: i64,
        table: TableHeaders,
        transaction_id: bytes,
    ) -> None:
        """Take the parts that the records of an event share."""
        out = self._out
        out.truncate(0)
        out.write(_START)
        self._more = table.more
        out[0] = u8(_COUNT + _EACH * self._more)
        put_padded(out, epoch, contract.SEQ_EPOCH_DIGITS)
        put_padded(out, file, contract.SEQ_FILE_DIGITS)
        put_padded(out, position, contract.SEQ_POSITION_DIGITS)
        put_padded(out, event_number, contract.SEQ_EVENT_DIGITS)
        self._event_end = len(out)
        self._table = table.encoded
        self._transaction_id = transaction_id

    def encode(self, op: i64, row: i64) -> bytes:
        """Return the headers of a record; `row` is the last part of its sequence, `op` a letter."""
        self._put(op, row)
        return self._out.getvalue()

    def encode_with(self, op: i64, row: i64, name: bytes, value: bytes) -> bytes:
        """Return the headers of a record, with one more header."""
        out = self._out
        self._put(op, row)
        put_header(out, name, value)
        out[0] = u8(_COUNT + _EACH * (self._more + 1))
        encoded = out.getvalue()
        out[0] = u8(_COUNT + _EACH * self._more)
        return encoded

    def encode_more(self, op: i64, row: i64, headers: list[tuple[bytes, bytes | None]]) -> bytes:
        """Return the headers of a record, with others after them; None is a header's NULL."""
        self._put(op, row)
        out = BytesWriter()
        put_varint(out, _HEADERS + self._more + len(headers))
        out.write(self._out.getvalue()[1:])
        for name, value in headers:
            if value is not None:
                put_header(out, name, value)
                continue
            put_varint(out, len(name))
            out.write(name)
            put_varint(out, _NULL_LENGTH)
        return out.getvalue()

    def _put(self, op: i64, row: i64) -> None:
        out = self._out
        out.truncate(self._event_end)
        put_padded(out, row, contract.SEQ_ROW_DIGITS)
        out.write(_OP)
        out.append(u8(op))
        out.write(self._table)
        out.write(_TRANSACTION)
        put_varint(out, len(self._transaction_id))
        out.write(self._transaction_id)
