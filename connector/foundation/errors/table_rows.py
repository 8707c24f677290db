"""T200: rows that have no form in a record, or no number."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_CORRECT = "correct it, or exclude the table"
_SPLIT = "split the change into smaller transactions"
_NUMBERED = "Consumers order changes by numbers of a fixed length, and these have no room for more."
_NO_VALUE = (
    "The server does not check what is stored in such a column. A value was stored that no reader "
    "could understand."
)

IN_EVENT = ErrorCode(
    "T201",
    "{log_position}: table {table}: {why}",
    frame=True,
    cause="A row of the table has no form in a record.",
    example={
        "log_position": "binlog.000042:1187",
        "table": "erp.orders",
        "why": "column price has type unknown, which the envelope has no form for",
    },
)
IN_COPY = ErrorCode(
    "T202",
    "copy of table {table}: {why}",
    frame=True,
    cause="A row of the table cannot be copied.",
    example={"table": "erp.orders", "why": "column area holds a geometry of 3 bytes"},
)
NO_FORM = ErrorCode(
    "T211",
    "column {column} has type {type}, which the envelope has no form for",
    "exclude the table",
    cause="Records have a JSON form for each type of MySQL and MariaDB, but not for this one.",
    example={"column": "price", "type": "unknown"},
    scope=Scope.TABLE,
)
NOT_TEXT = ErrorCode(
    "T212",
    "column {column} holds a value that is not text of its character set",
    _CORRECT,
    cause=(
        "The bytes of the value are no text in the character set of the column. They may come "
        "from a time when another character set was declared."
    ),
    example={"column": "name"},
    scope=Scope.TABLE,
)
GEOMETRY_SIZE = ErrorCode(
    "T213",
    "column {column} holds a geometry of {length} bytes",
    _CORRECT,
    cause=f"{_NO_VALUE} A geometry has four bytes of SRID at least.",
    example={"column": "area", "length": 3},
    scope=Scope.TABLE,
)
SAME_KEY = ErrorCode(
    "T217",
    "column {column} of the key holds number {number}, whose text may be that of another row",
    "exclude the table; labels with different texts, none of them empty, avoid it",
    cause=(
        "An ENUM has its error value beside an empty label, or two labels of an ENUM or SET are "
        "equal. The server tells such keys by their number. Records have the text, so consumers "
        "would take two rows for one."
    ),
    example={"column": "state", "number": 0},
    scope=Scope.TABLE,
)
VECTOR_SIZE = ErrorCode(
    "T214",
    "column {column} holds a vector of {length} bytes",
    _CORRECT,
    cause=f"{_NO_VALUE} A vector has four bytes for each number.",
    example={"column": "embedding", "length": 7},
    scope=Scope.TABLE,
)
TIME_UNFIT = ErrorCode(
    "T216",
    'column {column} holds a {type} that times = "{times}" cannot express',
    'choose another {envelope.times}, or conversion_failures = "null", which needs a column '
    "that can be NULL",
    cause=(
        "The forms connect and isostring express a TIME as a time of day, from 00:00:00 to "
        "24:00:00. The form nanoseconds counts a DATETIME in 64 bits, from 1677-09-22 to "
        "2262-04-11. Debezium writes NULL then, or stops."
    ),
    example={"column": "spent", "type": "TIME", "times": "connect"},
    scope=Scope.TABLE,
)
ROW_SHAPE = ErrorCode(
    "T215",
    "copy of table {table}: the server sent a row that does not have {columns} columns",
    "bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set {source.tls.mode} to required",
    cause="Each row of an answer has a cell for each column that was asked for.",
    example={"table": "erp.orders", "columns": 5},
    scope=Scope.TABLE,
)
COLUMN_ABSENT = ErrorCode(
    "T221",
    'a row was logged without column "{column}": a session ran with binlog_row_image=MINIMAL or '
    "NOBLOB",
    "SET GLOBAL binlog_row_image=FULL, and give the pipeline a new name with {source.start} after "
    "these rows",
    fence_fix="SET GLOBAL binlog_row_image=FULL",
    passable=True,
    cause=(
        "A record has all columns of a row. With this setting the log holds only those that "
        "changed, and each session may choose it. Newer MariaDB servers leave generated columns "
        "out with FULL, too (S681): a stream knows that, a file does not say it."
    ),
    example={"column": "price"},
    scope=Scope.TABLE,
)
KEY_ABSENT = ErrorCode(
    "T222",
    "a row of {table} was logged without its key",
    "SET GLOBAL binlog_row_image=FULL",
    cause=(
        "Changes go into quarantine by the key of their row. A session ran with "
        "binlog_row_image=MINIMAL or NOBLOB, so the log does not hold the key."
    ),
    example={"table": "erp.orders"},
    scope=Scope.TABLE,
)
MANY_ROWS = ErrorCode(
    "T231",
    "a rows event with more than {limit} rows cannot be numbered",
    _SPLIT,
    cause=_NUMBERED,
    example={"limit": 50_000_000},
)
MANY_EVENTS = ErrorCode(
    "T232",
    "{log_position}: a transaction with more than {limit} events cannot be numbered",
    _SPLIT,
    cause=_NUMBERED,
    example={"log_position": "binlog.000042:1187", "limit": 100_000_000},
)
SEQUENCE_END = ErrorCode(
    "T233",
    "{log_position} in epoch {epoch} is beyond what a sequence can count",
    "run RESET BINARY LOGS AND GTIDS on the source in a maintenance window and start the pipeline "
    "under a new name",
    cause=f"{_NUMBERED} The number of the log file, the position or the epoch is too large.",
    example={"log_position": "binlog.9999999999:4", "epoch": 1},
)
FILE_NUMBER = ErrorCode(
    "T234",
    "log file {file!r} has no number at the end of its name, so it cannot be ordered",
    "give it the name that its server gave it",
    cause="Servers number their log files, and the order of changes begins with this number.",
    example={"file": "binlog.backup"},
)
