"""Events that carry the text of statements.

::

    QUERY       thread_id u32 │ exec_time u32 │ schema length u8 │ error_code u16 │
                status_vars length u16 │ status_vars │ schema │ 0 │ query to the end
    ROWS_QUERY  length u8 │ query to the end

The length of ROWS_QUERY is cut to one byte and therefore of no use.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
"""

from __future__ import annotations

from dataclasses import dataclass

from connector.binlog.character_sets import decode_leniently
from connector.binlog.collations import charset_of
from connector.binlog.status_variables import StatusVariables
from connector.errors import DecodeError
from connector.payload import PayloadReader


@dataclass(slots=True)
class QueryEvent:
    r"""A statement that ran: BEGIN, COMMIT, DDL, or a change logged as a statement.

    `query` is text by the session's character_set_client; a byte that is not of that character
    set is written as `\xNN`. `query_bytes` is what the server logged.
    """

    thread_id: int
    exec_time: int  # seconds
    error_code: int  # of the statement on the server that ran it; 0 for success
    schema: str  # the session's default database, "" without
    status_variables: StatusVariables
    query_bytes: bytes
    query: str

    @classmethod
    def decode(cls, body: PayloadReader) -> QueryEvent:
        """Decode an event body."""
        thread_id = body.read_uint32()
        exec_time = body.read_uint32()
        schema_length = body.read_uint8()
        error_code = body.read_uint16()
        variables_length = body.read_uint16()
        start = body.offset
        body.skip(variables_length)
        variables = StatusVariables.decode(PayloadReader(body.data, start, body.offset))
        try:
            schema = body.read_bytes(schema_length).decode("utf-8")
        except UnicodeDecodeError:
            reason = "the name of the default database is not UTF-8"
            raise DecodeError(reason) from None
        body.skip(1)
        query_bytes = body.read_rest()
        charset = charset_of(variables.charset[0]) if variables.charset is not None else None
        query = decode_leniently(query_bytes, charset or "utf8mb4")
        return cls(thread_id, exec_time, error_code, schema, variables, query_bytes, query)

    @property
    def updated_databases(self) -> list[str] | None:
        """The databases that the statement touched, where the server lists them."""
        return self.status_variables.updated_databases


@dataclass(slots=True)
class RowsQueryEvent:
    """The statement whose rows follow (binlog_rows_query_log_events)."""

    query: str  # bytes that are not UTF-8 are written as \\xNN

    @classmethod
    def decode(cls, body: PayloadReader) -> RowsQueryEvent:
        """Decode an event body."""
        body.skip(1)
        return cls(body.read_rest().decode("utf-8", "backslashreplace"))
