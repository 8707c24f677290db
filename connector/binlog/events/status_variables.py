"""The session state that a QUERY_EVENT carries becomes named values; sql_mode is one of them.

::

    (code u8 │ value) …        the code decides the length of the value

An unknown code ends the decoding, because its length is unknown, too. The rest of the block is kept
as bytes; the block's length is known, so nothing else is lost.

Bits of sql_mode decide what a statement does to rows. MySQL and MariaDB use the same bits; 32 is
EMPTY_STRING_IS_NULL on MariaDB, and on MySQL TIME_TRUNCATE_FRACTIONAL.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Query__event.html
https://mariadb.com/kb/en/query_event/
https://github.com/MariaDB/server/blob/11.8/sql/sql_class.h
https://github.com/mysql/mysql-server/blob/8.0/sql/system_variables.h
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from connector.binlog.payload_reader import PayloadReader, utf8_text

# Instead of a count: the statement touched too many databases to list them.
OVER_MAX_DBS_IN_EVENT_MTS = 254

# MariaDB, binlog_alter_two_phase: a sequence number follows the flags.
_FL_COMMIT_ALTER = 0x04
_FL_ROLLBACK_ALTER = 0x08


@dataclass(slots=True)
class StatusVariables:
    """The values that are present; None for the others."""

    flags2: int | None = None
    sql_mode: int | None = None
    catalog: str | None = None
    auto_increment: tuple[int, int] | None = None  # increment, offset
    # Collations of character_set_client, collation_connection, collation_server.
    charset: tuple[int, int, int] | None = None
    time_zone: str | None = None
    lc_time_names: int | None = None
    charset_database: int | None = None
    table_map_for_update: int | None = None
    master_data_written: int | None = None
    invoker: tuple[str, str] | None = None  # user, host
    updated_databases: list[str] | None = None
    too_many_databases: bool = False  # the statement touched more than the server lists
    microseconds: int | None = None
    commit_ts: int | None = None  # of development releases of 5.7, as the next one
    commit_ts2: int | None = None
    explicit_defaults_for_timestamp: int | None = None
    ddl_xid: int | None = None
    default_collation_for_utf8mb4: int | None = None
    sql_require_primary_key: int | None = None
    default_table_encryption: int | None = None
    enable_cascade_triggers: int | None = None  # 9.7
    gtid_flags_extra: int | None = None
    sa_seq_no: int | None = None  # of the GTID whose ALTER this one commits or rolls back
    character_set_collations: list[tuple[int, int]] | None = None
    unknown: bytes = b""  # from the first code that is not known to the end
    data: bytes = field(default=b"", repr=False, compare=False)  # the whole block, as logged

    @classmethod
    def decode(cls, block: PayloadReader) -> "StatusVariables":
        """Decode the whole block; raises DecodeError for a value that is cut off.

        Equal blocks mostly give the same object, which must not be changed: a session writes the
        same one with statement after statement.
        """
        raw = block.data[block.offset : block.end]
        known = _KEPT.get(raw)
        if known is not None:
            block.skip(len(raw))
            return known
        variables = cls._decode(block, raw)
        if len(raw) <= _KEPT_BYTES_MAX:
            if len(_KEPT) >= _KEPT_MAX:
                _KEPT.clear()
            _KEPT[raw] = variables
        return variables

    @classmethod
    def _decode(cls, block: PayloadReader, raw: bytes) -> "StatusVariables":
        variables = cls(data=raw)
        while block.remaining:
            start = block.offset
            code: int = block.read_uint8()
            number = _NUMBERS.get(code)
            read = _READERS.get(code)
            if number is not None:
                setattr(variables, number[0], block.read_uint(number[1]))
            elif read is not None:
                read(variables, block)
            else:
                block.skip(block.remaining)
                variables.unknown = block.data[start : block.end]
        return variables


# Blocks that were decoded; those of more bytes hold the names of databases, and differ.
_KEPT: Final[dict[bytes, StatusVariables]] = {}
_KEPT_MAX: Final = 256
_KEPT_BYTES_MAX: Final = 256


def _read_text(block: PayloadReader) -> str:
    return _text(block.read_bytes(block.read_uint8()))


def _text(raw: bytes) -> str:
    return utf8_text(raw, "text of a status variable")


def _catalog(variables: StatusVariables, block: PayloadReader) -> None:
    variables.catalog = _read_text(block)
    block.skip(1)  # the terminator that 5.0.3 and older needed


def _auto_increment(variables: StatusVariables, block: PayloadReader) -> None:
    variables.auto_increment = (block.read_uint16(), block.read_uint16())


def _charset(variables: StatusVariables, block: PayloadReader) -> None:
    variables.charset = (block.read_uint16(), block.read_uint16(), block.read_uint16())


def _time_zone(variables: StatusVariables, block: PayloadReader) -> None:
    variables.time_zone = _read_text(block)


def _catalog_without_terminator(variables: StatusVariables, block: PayloadReader) -> None:
    variables.catalog = _read_text(block)


def _invoker(variables: StatusVariables, block: PayloadReader) -> None:
    variables.invoker = (_read_text(block), _read_text(block))


def _updated_databases(variables: StatusVariables, block: PayloadReader) -> None:
    count = block.read_uint8()
    if count == OVER_MAX_DBS_IN_EVENT_MTS:
        variables.too_many_databases = True
        return
    variables.updated_databases = [
        _text(block.read_terminated("name of an updated database")) for _ in range(count)
    ]


def _gtid_flags_extra(variables: StatusVariables, block: PayloadReader) -> None:
    flags = block.read_uint8()
    variables.gtid_flags_extra = flags
    if flags & (_FL_COMMIT_ALTER | _FL_ROLLBACK_ALTER):
        variables.sa_seq_no = block.read_uint64()


def _character_set_collations(variables: StatusVariables, block: PayloadReader) -> None:
    variables.character_set_collations = [
        (block.read_uint16(), block.read_uint16()) for _ in range(block.read_uint8())
    ]


# Numbers: the name of the value, and its bytes.
_NUMBERS: Final[dict[int, tuple[str, int]]] = {
    0: ("flags2", 4),
    1: ("sql_mode", 8),
    7: ("lc_time_names", 2),
    8: ("charset_database", 2),
    9: ("table_map_for_update", 8),
    10: ("master_data_written", 4),
    13: ("microseconds", 3),
    14: ("commit_ts", 8),
    15: ("commit_ts2", 8),
    16: ("explicit_defaults_for_timestamp", 1),
    17: ("ddl_xid", 8),
    18: ("default_collation_for_utf8mb4", 2),
    19: ("sql_require_primary_key", 1),
    20: ("default_table_encryption", 1),
    21: ("enable_cascade_triggers", 1),
    128: ("microseconds", 3),
    129: ("ddl_xid", 8),
}
_READERS: Final[dict[int, Callable[[StatusVariables, PayloadReader], None]]] = {
    2: _catalog,
    3: _auto_increment,
    4: _charset,
    5: _time_zone,
    6: _catalog_without_terminator,
    11: _invoker,
    12: _updated_databases,
    130: _gtid_flags_extra,
    131: _character_set_collations,
}

ANSI_QUOTES: Final = 1 << 2
NO_AUTO_VALUE_ON_ZERO: Final = 1 << 19
NO_BACKSLASH_ESCAPES: Final = 1 << 20
STRICT_TRANS_TABLES: Final = 1 << 21
STRICT_ALL_TABLES: Final = 1 << 22
NO_ZERO_IN_DATE: Final = 1 << 23
NO_ZERO_DATE: Final = 1 << 24
EMPTY_STRING_IS_NULL: Final = 1 << 32

# The modes of other databases: DATE is DATETIME in ORACLE, and TIMESTAMP is DATETIME in MAXDB.
_OTHER_TYPES: Final = 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12

# The worst case, for a log that does not say the mode.
UNKNOWN_MODE: Final = NO_BACKSLASH_ESCAPES | NO_ZERO_IN_DATE | NO_ZERO_DATE | EMPTY_STRING_IS_NULL


def is_strict(mode: int) -> bool:
    """Return whether a value that does not fit its column is an error."""
    return mode & (STRICT_TRANS_TABLES | STRICT_ALL_TABLES) != 0


def zeroes_dates(mode: int) -> bool:
    """Return whether a rebuild of a table can turn its partial dates into zeros."""
    return not is_strict(mode) and mode & (NO_ZERO_IN_DATE | NO_ZERO_DATE) != 0


def has_other_types(mode: int) -> bool:
    """Return whether a name of a type can stand for another type, as in other databases."""
    return mode & _OTHER_TYPES != 0
