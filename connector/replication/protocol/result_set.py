"""The answer to a query: bytes from the network become whole rows, given to a receiver.

::

    packet   length u24 | number u8 | payload
    answer   column count lenenc, a definition of each column, EOF, rows, EOF
             00 | OK of a statement without rows          ff | error, also in place of any row
    row      of each column: fb for NULL, or length lenenc | text

A payload of 2^24 - 1 bytes or more fills packets of exactly 2^24 - 1 bytes up to one that is
shorter, and may be empty. Numbers rise by one from the query's 0 and wrap at 256.

`TextRows` receives small results. The rows of a copied table go to a receiver that encodes them, or
to `CellRows`, from which whole columns are read.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html
"""

from typing import Final, NoReturn, final

from librt.strings import BytesWriter, read_i32_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.log_errors import ProtocolError, TruncatedPayload
from connector.binlog.payload_reader import LENENC_NULL, PayloadReader
from connector.foundation.errors.code import ErrorCode
from connector.replication import dump_errors
from connector.replication.protocol.responses import EOF, EOF_LENGTH_MAX, ERR, OK, ErrPacket

# The server's largest max_allowed_packet, 1 GiB, and room for the lengths of 4096 columns.
ROW_BYTES_MAX: Final = 2**30 + 2**16

_HEADER_LENGTH: Final = 4
_PACKET_LENGTH_MAX: Final = 2**24 - 1
_NUMBER_SHIFT: Final = 24
_NUMBER_MASK: Final = 0xFF
_WORD_MASK: Final = 0xFFFF_FFFF
_LOCAL_INFILE: Final = 0xFB

# The kind of the next payload.
_ANSWER: Final = 0
_DEFINITION: Final = 1
_DEFINITIONS_END: Final = 2
_ROW: Final = 3
_NOTHING: Final = 4

# In a column's definition: catalog, schema, table, original table; then its name.
_NAMES_BEFORE: Final = 4


@final
class ResultSet:
    """Splits the answer to one query.

    Give it bytes with `feed` until it has `ended`.

    Memory: the bytes fed last, and twice the largest row while its pieces are joined.
    """

    __slots__ = (
        "_definitions_left",
        "_expected",
        "_joined",
        "_joined_bytes",
        "_needed",
        "_next_number",
        "_pieces",
        "_pieces_bytes",
        "_server_name",
        "_taker",
        "column_names",
        "error",
    )

    def __init__(self, server_name: str, taker: "RowReceiver") -> None:
        """Start after the query, whose packet had the number 0; errors name `server_name`."""
        self.error: ErrPacket | None = None  # the server's message in place of further rows
        self.column_names: list[str] = []
        self._server_name = server_name
        self._taker = taker
        self._expected: i64 = _ANSWER
        self._definitions_left: i64 = 0
        self._next_number: i64 = 1
        # Bytes of an incomplete packet, and how many bytes complete it.
        self._pieces: list[bytes] = []
        self._pieces_bytes: i64 = 0
        self._needed: i64 = 0
        # Payloads of full packets; more packets follow them.
        self._joined: list[bytes] = []
        self._joined_bytes: i64 = 0

    @property
    def ended(self) -> bool:
        """Whether the answer is complete: nothing more comes before the next query."""
        return self._expected == _NOTHING

    def feed(self, data: bytes) -> None:
        """Add bytes to those before, and give whole rows to the taker.

        Raises ProtocolError if they cannot be an answer, and any error of the taker. After an
        error nothing may be fed.
        """
        if self._pieces_bytes:
            self._pieces.append(data)
            self._pieces_bytes += len(data)
            if self._pieces_bytes < self._needed:
                return
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._pieces_bytes = 0
        rest = self._split(data)
        if rest < len(data):
            self._pieces.append(data[rest:])
            self._pieces_bytes = len(data) - rest

    def _split(self, data: bytes) -> i64:
        """Take the whole packets; return where the first incomplete one begins."""
        taker = self._taker
        available: i64 = len(data)
        start: i64 = 0
        while available - start >= _HEADER_LENGTH:
            word = i64(read_i32_le(data, start)) & _WORD_MASK
            length = word & _PACKET_LENGTH_MAX
            payload = start + _HEADER_LENGTH
            end = payload + length
            if end > available:
                self._needed = _HEADER_LENGTH + length
                return start
            number = word >> _NUMBER_SHIFT
            if number != self._next_number:
                self._refuse_number(number)
            self._next_number = (number + 1) & _NUMBER_MASK
            start = end
            if (
                self._expected == _ROW
                and 0 < length < _PACKET_LENGTH_MAX
                and data[payload] < EOF
                and not self._joined
            ):
                # Nearly every packet is a row, whole in the data.
                taker.put_row(data, payload, end)
            else:
                self._take_packet(data, payload, end)
        self._needed = _HEADER_LENGTH
        return start

    def _take_packet(self, data: bytes, start: i64, end: i64) -> None:
        """Take a packet's payload, which may be a piece of a larger one."""
        whole = end - start < _PACKET_LENGTH_MAX
        if whole and not self._joined:
            self._take_payload(data, start, end)
            return
        self._joined_bytes += end - start
        if self._joined_bytes > ROW_BYTES_MAX:
            self._refuse(dump_errors.ANSWER_ROW_SIZE, limit=ROW_BYTES_MAX)
        self._joined.append(data[start:end])
        if whole:
            joined = b"".join(self._joined)
            self._joined.clear()
            self._joined_bytes = 0
            self._take_payload(joined, 0, len(joined))

    def _take_payload(self, data: bytes, start: i64, end: i64) -> None:
        if start == end:
            self._refuse(dump_errors.ANSWER_EMPTY_PACKET)
        first: i64 = data[start]
        if self._expected == _ROW and first != ERR and not _is_eof(first, end - start):
            self._taker.put_row(data, start, end)
            return
        try:
            self._take_other(first, PayloadReader(data, start, end))
        except TruncatedPayload as error:
            self._refuse(dump_errors.ANSWER_UNREADABLE, why=error)

    def _take_other(self, first: i64, payload: PayloadReader) -> None:
        """Take a payload that is not a row."""
        if first == ERR and self._expected != _NOTHING:
            payload.skip(1)
            self.error = ErrPacket.decode(payload)
            self._expected = _NOTHING
        elif self._expected == _ANSWER:
            self._take_answer(first, payload)
        elif self._expected == _DEFINITION:
            self._take_definition(payload)
        elif _is_eof(first, payload.remaining):
            self._take_eof()
        else:
            self._refuse(dump_errors.ANSWER_PACKET)

    def _take_answer(self, first: i64, payload: PayloadReader) -> None:
        if first == OK:
            self._expected = _NOTHING
        elif first == _LOCAL_INFILE:
            self._refuse(dump_errors.ANSWER_FILE)
        else:
            count: i64 = payload.read_lenenc()
            self._definitions_left = count
            self._expected = _DEFINITION

    def _take_definition(self, payload: PayloadReader) -> None:
        for _ in range(_NAMES_BEFORE):
            payload.read_lenenc_bytes()
        self.column_names.append(payload.read_lenenc_bytes().decode("utf-8", "replace"))
        self._definitions_left -= 1
        if self._definitions_left == 0:
            self._expected = _DEFINITIONS_END

    def _take_eof(self) -> None:
        if self._expected == _DEFINITIONS_END:
            self._expected = _ROW
        elif self._expected == _ROW:
            self._expected = _NOTHING
        else:
            self._refuse(dump_errors.ANSWER_END)

    def _refuse_number(self, number: i64) -> NoReturn:
        self._refuse(dump_errors.ANSWER_NUMBER, number=number, needed=self._next_number)

    def _refuse(self, code: ErrorCode, **facts: object) -> NoReturn:
        raise ProtocolError(code, server=self._server_name, **facts)


def _is_eof(first: i64, length: i64) -> bool:
    return first == EOF and length <= EOF_LENGTH_MAX


class RowReceiver:
    """Takes the rows of a result set, in their order."""

    __slots__ = ()

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take the row in `data[start:end]`; the bytes do not change afterwards."""
        raise NotImplementedError


@final
class TextRows(RowReceiver):
    """The rows of a small result, as text."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: list[list[str | None]] = []

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take a row whose cells are UTF-8."""
        row = PayloadReader(data, start, end)
        cells: list[str | None] = []
        while row.offset < end:
            if data[row.offset] == LENENC_NULL:
                row.skip(1)
                cells.append(None)
            else:
                cells.append(row.read_lenenc_bytes().decode("utf-8", "backslashreplace"))
        self.rows.append(cells)


@final
class CellRows(RowReceiver):
    """The rows of a large result as they came, and where each cell is.

    Cells come in the order of the rows. `bounds` has two numbers of 64 bits for each cell,
    little-endian: where it begins and ends in `data`; they never fall. `nulls` has a byte for each
    cell, 1 for NULL.
    """

    __slots__ = ("_bounds", "_data", "_nulls", "count")

    def __init__(self) -> None:
        self._data = BytesWriter()
        self._bounds = BytesWriter()
        self._nulls = BytesWriter()
        self.count: i64 = 0

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take a row. Raises TruncatedPayload if its last cell has no end."""
        moved: i64 = len(self._data) - start
        self._data.write(data[start:end])
        at = start
        while at < end:
            length: i64 = data[at]
            is_null = length == LENENC_NULL
            if length <= LENENC_NULL:
                at += 1
            else:
                reader = PayloadReader(data, at, end)
                length = reader.read_lenenc()
                at = reader.offset
            if is_null:
                length = 0
            if length > end - at:
                raise TruncatedPayload(length, at, end)
            write_i64_le(self._bounds, at + moved)
            at += length
            write_i64_le(self._bounds, at + moved)
            self._nulls.append(u8(1 if is_null else 0))
        self.count += 1

    @property
    def size(self) -> i64:
        """Bytes of the rows so far."""
        return len(self._data)

    def take(self) -> tuple[bytes, bytes, bytes]:
        """Return `data`, `bounds` and `nulls` of all rows, and begin again without rows."""
        taken = self._data.getvalue(), self._bounds.getvalue(), self._nulls.getvalue()
        self._data = BytesWriter()
        self._bounds = BytesWriter()
        self._nulls = BytesWriter()
        self.count = 0
        return taken
