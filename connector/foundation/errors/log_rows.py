"""L300: table maps and rows, and what frames an error of a table or of a column."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_CHANGED = "No server writes this: bytes were changed."

TABLE = ErrorCode(
    "L301",
    "table {table}, {why}",
    frame=True,
    cause="A row of the table cannot be read.",
    example={"table": "erp.orders", "why": "need 8 bytes at offset 23, but the payload ends at 27"},
)
COLUMN = ErrorCode(
    "L302",
    "column {column} ({type}): {why}",
    frame=True,
    cause=(
        "A value of the column cannot be read. A column without a name is identified by its number."
    ),
    example={"column": "price", "type": "NEWDECIMAL", "why": "DECIMAL(70,2) does not exist"},
)
METADATA_LEFT = ErrorCode(
    "L311",
    "{count} bytes of column metadata belong to no column",
    cause=_CHANGED,
    example={"count": 2},
)
METADATA_COLUMN = ErrorCode(
    "L312",
    "the optional metadata speaks of column {number}, but there are {count}",
    cause=_CHANGED,
    example={"number": 7, "count": 5},
)
NO_TABLE_MAP = ErrorCode(
    "L313",
    "no TABLE_MAP_EVENT of this statement describes table id {table_id}",
    cause=(
        "Rows follow the event that describes their table. Reading began between the two, or "
        "events are missing."
    ),
    example={"table_id": 108},
)
COLUMNS_DIFFER = ErrorCode(
    "L314",
    "the event has {found} columns, but the table map of {table} has {count}",
    cause=_CHANGED,
    example={"found": 5, "table": "erp.orders", "count": 4},
    scope=Scope.PLACE,
)
NO_COLUMN_PRESENT = ErrorCode(
    "L315",
    "{length} bytes of rows, but no column is present",
    cause=_CHANGED,
    example={"length": 40},
    scope=Scope.PLACE,
)
PRE_GA = ErrorCode(
    "L316",
    "rows as servers before 5.1.18 wrote them hold the null bytes of the server's own record, and "
    "these cannot be read without the definition of the table",
    cause="Servers before 5.1.18 are pre-releases, whose row events had another form.",
)
VALUE_OPTIONS = ErrorCode(
    "L317",
    "value options {options:#x} are not known",
    "upgrade the connector",
    cause=(
        "A server says how values of an update are written (binlog_row_value_options). A newer "
        "server wrote it, or bytes were changed."
    ),
    example={"options": 4},
    scope=Scope.PLACE,
)
TYPE_NOT_READ = ErrorCode(
    "L318",
    "values of this type are not supported",
    "exclude the table",
    cause="No released server writes columns of this type, so that nobody knows how to read them.",
    scope=Scope.TABLE,
)
OLD_FRACTION = ErrorCode(
    "L320",
    "{columns}: digits after the second in MariaDB's old format (mysql56_temporal_format=OFF), and "
    "the log does not tell how many",
    "rebuild the table (SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE ... FORCE) and read "
    "from there on, or exclude the table",
    cause=(
        "The values of such a column take as many bytes as its digits need, and a table map of "
        "MariaDB does not say how many. Rows could be read as others than those that were written."
    ),
    example={"columns": ("column seen (DATETIME)",)},
    scope=Scope.PLACE,
)
NDB_LENGTH = ErrorCode(
    "L319",
    "extra row data of NDB has {length} bytes instead of {least} or more",
    cause=_CHANGED,
    example={"length": 1, "least": 2},
)
