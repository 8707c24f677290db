"""What `flashback` cannot undo."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

IN_EVENT = ErrorCode(
    "L621",
    "{file}:{position}: {why}",
    frame=True,
    cause="A table has changes that cannot be undone.",
    example={
        "file": "binlog.000042",
        "position": 1187,
        "why": "the log does not name the columns of erp.orders",
    },
)

ROW = ErrorCode(
    "L622",
    "{file}:{position}: a row of {table} cannot be undone: {why}",
    frame=True,
    cause="The log does not hold what the row was before.",
    example={
        "file": "binlog.000042",
        "position": 1187,
        "table": "erp.orders",
        "why": "its image lacks column note",
    },
)

NO_NAMES = ErrorCode(
    "L623",
    "the log does not name the columns of {table}",
    "only what was written with binlog_row_metadata=FULL can be undone",
    cause="A statement that undoes a change names columns, and the log has no names.",
    example={"table": "erp.orders"},
)

NOT_IN_IMAGE = ErrorCode(
    "L624",
    "its image lacks column {column}",
    "if it is a generated column, or the hash of a unique key, leave it out (--omit-column); "
    "otherwise, only what was written with binlog_row_image=FULL can be undone",
    cause=(
        "With binlog_row_image=MINIMAL the log does not have all columns of a row. Newer MariaDB "
        "servers leave generated columns and hashes (DB_ROW_HASH_1) out of rows of UPDATE and "
        "DELETE, with FULL, too."
    ),
    example={"column": "note"},
)

JSON_DECIMAL = ErrorCode(
    "L625",
    "a JSON document holds a DECIMAL of {length} characters, which its text does not bring back",
    "undo this transaction by hand",
    cause="A server that reads the text of a document takes such a number for a DOUBLE.",
    example={"length": 30},
)

NAME = ErrorCode(
    "L626",
    "{table} has a name that not every client would read as one: {name!r}",
    "undo the changes of this table by hand",
    cause=(
        "A client with a character set such as gbk takes the quote after some characters for a "
        "part of them, and a backslash before the other kind of quote for an escape. The name has "
        "both."
    ),
    example={"table": "erp.orders", "name": "\\表"},
)

_SELECT = "select changes after it alone (--start-position), or other tables"

XA = ErrorCode(
    "L631",
    "{file}:{position}: cannot undo an XA transaction, whose outcome stands elsewhere in the log",
    _SELECT,
    cause="XA PREPARE ends the changes in the log. XA COMMIT or XA ROLLBACK follows later.",
    example={"file": "binlog.000042", "position": 1187},
)

LOAD = ErrorCode(
    "L632",
    "{file}:{position}: cannot undo LOAD DATA, logged as a statement, so that which rows it "
    "changed is not in the log",
    _SELECT,
    cause="A session ran with binlog_format=STATEMENT or MIXED.",
    example={"file": "binlog.000042", "position": 1187},
)

INCIDENT = ErrorCode(
    "L633",
    "{file}:{position}: cannot undo an incident: the server reports that changes may be missing",
    _SELECT,
    cause="A server that lost changes of its log says so in the log.",
    example={"file": "binlog.000042", "position": 1187},
)

ROLLBACK = ErrorCode(
    "L634",
    "{file}:{position}: cannot undo {verb} after row changes: which of them stayed is not in the "
    "log",
    _SELECT,
    cause="Changes of tables without transactions stay after a rollback; others do not.",
    example={"file": "binlog.000042", "position": 1187, "verb": "ROLLBACK"},
)

STATEMENT = ErrorCode(
    "L635",
    "{file}:{position}: cannot undo {verb} in database {database}, logged as a statement, so that "
    "which rows it changed is not in the log",
    _SELECT,
    cause="A session ran with binlog_format=STATEMENT or MIXED.",
    example={"file": "binlog.000042", "position": 1187, "verb": "UPDATE", "database": "erp"},
)

DDL = ErrorCode(
    "L636",
    "{file}:{position}: cannot undo {verb} on {table}, after row changes that are selected",
    _SELECT,
    cause="The table is another one since this statement, so the rows before it do not fit it.",
    example={
        "file": "binlog.000042",
        "position": 1187,
        "verb": "ALTER TABLE",
        "table": "erp.orders",
    },
)

JOB_ENDED = ErrorCode(
    "C248",
    "{path}: the process that read this log has ended with {status}",
    "look for what ended it, such as a lack of memory, and repeat the command, with fewer --jobs",
    end=End.CONFIGURATION,
    cause="With --jobs, each log is read by a process of its own, and one of them was ended.",
    example={"path": "binlog.000042", "status": "signal 9"},
)
