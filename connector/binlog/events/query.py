"""Events that carry the text of statements.

::

    QUERY               thread_id u32 │ exec_time u32 │ schema length u8 │ error_code u16 │
                        status_vars length u16 │ status_vars │ schema │ 0 │ query to the end
    EXECUTE_LOAD_QUERY  as QUERY, with file_id u32 │ start_pos u32 │ end_pos u32 │
                        duplicate_handling u8 before the status_vars
    ROWS_QUERY          length u8 │ query to the end

A QUERY of format v1 or v3 ends its fixed part with the error code. The length of ROWS_QUERY is cut
to one byte and therefore of no use.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Execute__load__query__event.html
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from librt.strings import read_i16_le, read_i32_le
from mypy_extensions import i64

from connector.binlog import log_errors
from connector.binlog.character_sets import charset_of, decode_leniently
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.header import read_post_header
from connector.binlog.payload_reader import PayloadReader, utf8_text
from connector.foundation.errors import DecodeError

# Instead of the session of a BEGIN, for any other statement or event.
NO_BEGIN: Final = -1

# Of the fixed part of a QUERY, as every server of format v4 writes it.
QUERY_HEADER_LENGTH: Final = 13
_SCHEMA_LENGTH_OFFSET: Final = 8
_VARIABLES_LENGTH_OFFSET: Final = 11

# The text of a statement that begins a transaction.
_BEGIN_LENGTH: Final = 5
_BEGI: Final = 0x4947_4542
_N: Final = 0x4E

# In these, each byte below 0x80 is ASCII; None: the session's character set is not known.
_OF_ASCII: Final = frozenset({None, "ascii", "binary", "latin1", "utf8mb3", "utf8mb4"})

# Of the fixed part of EXECUTE_LOAD_QUERY, after that of QUERY.
_LOAD_HEADER_LENGTH: Final = 13


@dataclass(slots=True, init=False)
class QueryEvent:
    r"""A statement that ran: BEGIN, COMMIT, DDL, or a change logged as a statement.

    `query` is text by the session's character_set_client; a byte that is not of that character
    set is written as `\xNN`. `query_bytes` are the logged bytes.
    """

    thread_id: int
    exec_time: int  # seconds
    error_code: int  # of the statement on the server that ran it; 0 for success
    schema: str  # the session's default database, "" without
    status_variables: StatusVariables
    query_bytes: bytes
    query: str

    def __init__(
        self,
        thread_id: int,
        exec_time: int,
        error_code: int,
        schema: str,
        status_variables: StatusVariables,
        query_bytes: bytes,
        query: str,
    ) -> None:
        """Set the fields; written out, because it runs for every event."""
        self.thread_id = thread_id
        self.exec_time = exec_time
        self.error_code = error_code
        self.schema = schema
        self.status_variables = status_variables
        self.query_bytes = query_bytes
        self.query = query

    @staticmethod
    def decode(body: PayloadReader, post_header_length: int | None = None) -> "QueryEvent":
        """Decode the fixed part, the status variables, the schema and the query.

        Raises DecodeError if a part is longer than the body.
        """
        head = read_post_header(body, post_header_length, QUERY_HEADER_LENGTH)
        return _read_query(head, body)

    @property
    def updated_databases(self) -> list[str] | None:
        """The databases that the statement touched, where the server lists them."""
        return self.status_variables.updated_databases


def is_begin(data: bytes, start: i64, end: i64) -> bool:
    """Return whether the QUERY body in `data[start:end]` is BEGIN.

    It has a fixed part of QUERY_HEADER_LENGTH.
    """
    if end - start < QUERY_HEADER_LENGTH:
        return False
    schema_length: i64 = data[start + _SCHEMA_LENGTH_OFFSET]
    variables_length = i64(read_i16_le(data, start + _VARIABLES_LENGTH_OFFSET)) & 0xFFFF
    text = start + QUERY_HEADER_LENGTH + variables_length + schema_length + 1
    return (
        end - text == _BEGIN_LENGTH
        and i64(read_i32_le(data, text)) == _BEGI
        and data[end - 1] == _N
    )


def thread_id_of(data: bytes, start: i64, end: i64) -> i64:
    """Return the session of the QUERY body in `data[start:end]` if it is BEGIN, else NO_BEGIN.

    It has a fixed part of QUERY_HEADER_LENGTH.
    """
    if not is_begin(data, start, end):
        return NO_BEGIN
    return i64(read_i32_le(data, start)) & 0xFFFF_FFFF


class DuplicateHandling(IntEnum):
    """What LOAD DATA does with a row whose key exists, MySQL's enum_load_dup_handling."""

    ERROR = 0
    IGNORE = 1
    REPLACE = 2


@dataclass(slots=True, init=False)
class ExecuteLoadQueryEvent(QueryEvent):
    """LOAD DATA as 5.0 and newer say it: the statement, with a file that came before it.

    `query_bytes[start_pos:end_pos]` holds the original name of the file; a replica replaces it by
    the name of its local copy.
    """

    file_id: int
    start_pos: int
    end_pos: int
    duplicate_handling: DuplicateHandling

    def __init__(
        self,
        statement: QueryEvent,
        file_id: int,
        start_pos: int,
        end_pos: int,
        duplicate_handling: DuplicateHandling,
    ) -> None:
        """Copy the fields of `statement`, and set those of the file."""
        # Without super(), because @dataclass(slots=True) replaces this class by a new one.
        QueryEvent.__init__(
            self,
            statement.thread_id,
            statement.exec_time,
            statement.error_code,
            statement.schema,
            statement.status_variables,
            statement.query_bytes,
            statement.query,
        )
        self.file_id = file_id
        self.start_pos = start_pos
        self.end_pos = end_pos
        self.duplicate_handling = duplicate_handling

    @staticmethod
    def decode(
        body: PayloadReader, post_header_length: int | None = None
    ) -> "ExecuteLoadQueryEvent":
        """Decode a QUERY body whose fixed part has 13 more bytes about the file.

        Raises DecodeError if the file name is outside of the query, or the handling is unknown.
        """
        known = QUERY_HEADER_LENGTH + _LOAD_HEADER_LENGTH
        head = read_post_header(body, post_header_length, known)
        query = _read_query(head, body)
        file_id = head.read_uint32()
        start_pos = head.read_uint32()
        end_pos = head.read_uint32()
        handling = head.read_uint8()
        length = len(query.query_bytes)
        if not start_pos <= end_pos <= length:
            raise DecodeError(
                log_errors.FILE_NAME_OUTSIDE, start=start_pos, end=end_pos, length=length
            )
        return ExecuteLoadQueryEvent(
            query, file_id, start_pos, end_pos, _duplicate_handling(handling)
        )


def _duplicate_handling(code: int) -> DuplicateHandling:
    try:
        return DuplicateHandling(code)
    except ValueError:
        raise DecodeError(
            log_errors.VALUE_UNKNOWN, field="duplicate handling", value=code
        ) from None


def _read_query(head: PayloadReader, body: PayloadReader) -> QueryEvent:
    """Read the fields of a QUERY: the fixed part from `head`, up to its end in others."""
    thread_id = head.read_uint32()
    exec_time = head.read_uint32()
    schema_length = head.read_uint8()
    error_code = head.read_uint16()
    variables_length = head.read_uint16() if head.remaining else 0
    start = body.offset
    body.skip(variables_length)
    variables = StatusVariables.decode(PayloadReader(body.data, start, body.offset))
    schema = utf8_text(body.read_bytes(schema_length), "name of the default database")
    body.skip(1)
    query_bytes = body.read_rest()
    query = _text(query_bytes, variables)
    return QueryEvent(thread_id, exec_time, error_code, schema, variables, query_bytes, query)


def client_charset(variables: StatusVariables) -> str | None:
    """Return MySQL's name of the session's character set, None if it is not known."""
    if variables.charset is None:
        return None
    # A client of MySQL has no number from 1024 on: collations that users add are for values.
    return charset_of(variables.charset[0], mariadb=True)


def _text(query: bytes, variables: StatusVariables) -> str:
    """Return the query as text, by the character set of the session."""
    charset = client_charset(variables)
    if query.isascii() and charset in _OF_ASCII:
        return query.decode("ascii")
    return decode_leniently(query, charset or "utf8mb4")


@dataclass(slots=True)
class RowsQueryEvent:
    """The statement whose rows follow (binlog_rows_query_log_events).

    Its length is that of the query modulo 256, and 0 from newer servers; no reader uses it.
    """

    query_bytes: bytes
    query: str  # bytes that are not UTF-8 are written as \\xNN
    length: int = 0  # as stored

    @classmethod
    def decode(cls, body: PayloadReader) -> "RowsQueryEvent":
        """Decode the length byte and the query, which fills the rest of the body."""
        length = body.read_uint8()
        query_bytes = body.read_rest()
        return cls(query_bytes, query_bytes.decode("utf-8", "backslashreplace"), length)
