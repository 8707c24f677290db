"""T900: tables whose definition at the server does not fit their rows in the log."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

ROWS_WITHOUT_TABLE = ErrorCode(
    "T901",
    "{server}: table {name} has rows at {file}:{position}, but does not exist, and the log up to "
    "{end_file}:{end_position} has no statement that drops it",
    "exclude the table",
    cause=(
        "The log does not name the columns of the table, so the server is asked for them. It has "
        "no such table, or the account does not see it."
    ),
    example={
        "server": "source db1:3306",
        "name": "erp.orders",
        "file": "binlog.000042",
        "position": 1187,
        "end_file": "binlog.000042",
        "end_position": 90210,
    },
    scope=Scope.TABLE,
)
LABELS_UNCERTAIN = ErrorCode(
    "T902",
    "{server}: table {name}: the log does not name the labels of column {column}, and the server "
    "shows some characters of them as `?`",
    "SET GLOBAL binlog_row_metadata=FULL, or exclude the table",
    cause=(
        "Labels of ENUM and SET may have characters that information_schema cannot show, so they "
        "are known from the log alone."
    ),
    example={"server": "source db1:3306", "name": "erp.orders", "column": "mood"},
    scope=Scope.TABLE,
)
COPY = ErrorCode(
    "T905",
    "copy of table {name}: {why}",
    frame=True,
    cause="The table cannot be copied.",
    example={"name": "erp.orders", "why": "column shape has type xmltype"},
)
NOT_SHOWN = ErrorCode(
    "T906",
    "table {name}: the log does not name its columns, and the server does not show them: {why}",
    cause=(
        "The server is asked for the columns of the table, by its name. It refuses: the account "
        "may not read the table, or the table is damaged."
    ),
    example={
        "name": "erp.orders",
        "why": "source db1:3306: error 1142: SELECT command denied to user 'cdc'@'%' for table "
        "'orders'; GRANT SELECT on the table TO the account of source.user",
    },
    scope=Scope.TABLE,
)
