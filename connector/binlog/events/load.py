"""Events of LOAD DATA logged as a statement: how the file is read, and the file itself.

::

    LOAD, NEW_LOAD   thread_id u32 │ exec_time u32 │ skip_lines u32 │ table length u8 │
                     schema length u8 │ column count u32 │ format │ length u8 * count │
                     (column │ 0) * count │ table │ 0 │ schema │ 0 │ file name to the end
    CREATE_FILE      as NEW_LOAD, with file_id u32 before the format and 0 │ block after the name
    APPEND_BLOCK     file_id u32 │ block to the end                BEGIN_LOAD_QUERY as well
    EXEC_LOAD        file_id u32                                   DELETE_FILE as well

    format of LOAD   field_term │ enclosed │ line_term │ line_start │ escaped: one byte each │
                     opt_flags u8 │ empty_flags u8
    format else      the same five, each length u8 │ bytes │ opt_flags u8

3.23 wrote LOAD and left the file to the replica to fetch. 4.0 and 4.1 wrote CREATE_FILE,
APPEND_BLOCK and EXEC_LOAD; 5.0 and newer write BEGIN_LOAD_QUERY, APPEND_BLOCK and
EXECUTE_LOAD_QUERY, which is in `statement_events`. DELETE_FILE ends a load that failed.

https://dev.mysql.com/doc/dev/mysql-server/5.7.44/classLoad__log__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Append__block__event.html
"""

from dataclasses import dataclass
from enum import IntFlag
from typing import Self

from connector.binlog import log_errors
from connector.binlog.header import read_post_header
from connector.binlog.payload_reader import PayloadReader, utf8_text
from connector.foundation.errors import DecodeError

_LOAD_HEADER_LENGTH = 18
_FILE_ID_LENGTH = 4


class LoadFlag(IntFlag):
    """Words of the LOAD DATA statement, MySQL's opt_flags."""

    DUMPFILE = 0x01
    OPT_ENCLOSED = 0x02
    REPLACE = 0x04
    IGNORE = 0x08


@dataclass(slots=True)
class LoadFormat:
    """How the file is split into rows and columns, MySQL's sql_ex; b"" is an empty string."""

    field_term: bytes
    enclosed: bytes
    line_term: bytes
    line_start: bytes
    escaped: bytes
    opt_flags: LoadFlag

    @classmethod
    def decode(cls, body: PayloadReader) -> "LoadFormat":
        """Decode the form of 4.0 and newer: strings of any length."""
        field_term, enclosed, line_term, line_start, escaped = (
            body.read_bytes(body.read_uint8()) for _ in range(5)
        )
        flags = LoadFlag(body.read_uint8())
        return cls(field_term, enclosed, line_term, line_start, escaped, flags)

    @classmethod
    def decode_old(cls, body: PayloadReader) -> "LoadFormat":
        """Decode the form of 3.23: one byte each, and a bit for each that counts as empty."""
        characters = body.read_bytes(5)
        opt_flags = LoadFlag(body.read_uint8())
        empty_flags = body.read_uint8()
        field_term, enclosed, line_term, line_start, escaped = (
            b"" if empty_flags >> index & 1 else characters[index : index + 1]
            for index in range(len(characters))
        )
        return cls(field_term, enclosed, line_term, line_start, escaped, opt_flags)


@dataclass(slots=True)
class LoadStatement:
    """What LOAD DATA says of the file and the table, in the events of 3.23, 4.0 and 4.1."""

    thread_id: int
    exec_time: int  # seconds
    skip_lines: int
    schema: str
    table: str
    columns: list[str]  # empty for all
    format: LoadFormat
    file_name: str  # bytes that are not UTF-8 are written as \\xNN


@dataclass(slots=True)
class LoadEvent(LoadStatement):
    """LOAD DATA as LOAD_EVENT (3.23) and NEW_LOAD_EVENT (4.0) say it."""

    @staticmethod
    def decode(
        body: PayloadReader, post_header_length: int | None = None, *, old_format: bool = False
    ) -> "LoadEvent":
        """Decode the body; `old_format` is for LOAD_EVENT, whose separators have one byte each."""
        head = read_post_header(body, post_header_length, _LOAD_HEADER_LENGTH)
        facts = _read_load(head, body, old_format=old_format)
        return LoadEvent(*facts, _file_name(body.read_rest()))


@dataclass(slots=True)
class CreateFileEvent(LoadStatement):
    """LOAD DATA as 4.0 and 4.1 say it, with the first block of the file."""

    file_id: int
    block: bytes

    @staticmethod
    def decode(
        body: PayloadReader,
        load_header_length: int | None = None,
        post_header_length: int | None = None,
    ) -> "CreateFileEvent":
        """Decode a body with two fixed parts: that of NEW_LOAD_EVENT, then the file id."""
        head = read_post_header(body, load_header_length, _LOAD_HEADER_LENGTH)
        file_id = read_post_header(body, post_header_length, _FILE_ID_LENGTH).read_uint32()
        facts = _read_load(head, body, old_format=False)
        file_name = _file_name(body.read_terminated("name of the file"))
        return CreateFileEvent(*facts, file_name, file_id, body.read_rest())


@dataclass(slots=True)
class FileBlock:
    """A block of a file that LOAD DATA reads."""

    file_id: int
    block: bytes

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> Self:
        """Decode the file id, u32, and the block, which fills the rest."""
        head = read_post_header(body, post_header_length, _FILE_ID_LENGTH)
        return cls(head.read_uint32(), body.read_rest())


@dataclass(slots=True)
class AppendBlockEvent(FileBlock):
    """The next block of a file."""


@dataclass(slots=True)
class BeginLoadQueryEvent(FileBlock):
    """The first block of a file that EXECUTE_LOAD_QUERY_EVENT will load."""


@dataclass(slots=True)
class FileEnd:
    """What becomes of a file whose blocks came before."""

    file_id: int

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> Self:
        """Decode the file id, u32."""
        return cls(read_post_header(body, post_header_length, _FILE_ID_LENGTH).read_uint32())


@dataclass(slots=True)
class ExecLoadEvent(FileEnd):
    """The file of a CREATE_FILE_EVENT is complete: load it."""


@dataclass(slots=True)
class DeleteFileEvent(FileEnd):
    """The load failed: forget the file."""


def _read_load(
    head: PayloadReader, body: PayloadReader, *, old_format: bool
) -> tuple[int, int, int, str, str, list[str], LoadFormat]:
    """Read the fields that CREATE_FILE_EVENT has as well, up to the name of the file."""
    thread_id = head.read_uint32()
    exec_time = head.read_uint32()
    skip_lines = head.read_uint32()
    table_length = head.read_uint8()
    schema_length = head.read_uint8()
    column_count = head.read_uint32()
    load_format = LoadFormat.decode_old(body) if old_format else LoadFormat.decode(body)
    lengths = body.read_bytes(column_count)
    columns = [_read_name(body, length, "name of a column") for length in lengths]
    table = _read_name(body, table_length, "name of the table")
    schema = _read_name(body, schema_length, "name of the schema")
    return thread_id, exec_time, skip_lines, schema, table, columns, load_format


def _read_name(body: PayloadReader, length: int, field: str) -> str:
    raw = body.read_bytes(length)
    if body.read_uint8():
        raise DecodeError(log_errors.END_ELSEWHERE, field=field)
    return utf8_text(raw, field)


def _file_name(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
