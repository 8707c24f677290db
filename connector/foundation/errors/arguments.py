"""C300: arguments of the reader, and of the commands that read logs."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION

ARGUMENT = ErrorCode(
    "C301",
    "{argument}: {why}",
    end=_END,
    frame=True,
    cause="The argument cannot be understood.",
    example={"argument": "start_gtid", "why": "'0-1' is not a MariaDB GTID"},
)
TEXT_FILE = ErrorCode(
    "C302",
    "{name}: opened as text",
    "open it with 'rb'",
    end=_END,
    cause="A log is bytes, and a file that is opened as text changes them.",
    example={"name": "binlog.000042"},
)
START_BEFORE_FIRST = ErrorCode(
    "C303",
    "{file}: start position {start} lies before the first event",
    "the first event is at {first}",
    end=_END,
    cause="The first bytes of a log name it. Events follow them.",
    example={"file": "binlog.000042", "start": 0, "first": 4},
)
START_INSIDE = ErrorCode(
    "C304",
    "{file}: no event starts at start position {start}, which lies inside of the one from {first} "
    "to {last}",
    "`binlog-connector dump --format events` shows where events start",
    end=_END,
    cause="Reading begins at the first byte of an event.",
    example={"file": "binlog.000042", "start": 100, "first": 4, "last": 126},
)
START_AFTER_END = ErrorCode(
    "C305",
    "{file}: start position {start} lies after the end of the log, {last}",
    "check whether it belongs to another log",
    end=_END,
    cause="The log is shorter than the position.",
    example={"file": "binlog.000042", "start": 9000, "last": 1251},
)
NO_LOG = ErrorCode(
    "C306",
    "no log is given",
    "give a file or more",
    end=_END,
    cause="The reader was called with an empty list of logs.",
)
NOT_FOLLOWED = ErrorCode(
    "C307",
    "{name}: only a file that is not compressed can be followed",
    "follow the log that the server writes",
    end=_END,
    cause="To follow a log is to read on while it grows. Compressed files and streams do not grow.",
    example={"name": "binlog.000042"},
)
CLOSED_TOO_SOON = ErrorCode(
    "C308",
    "{file}:{position}: the log was closed before its end",
    "read it inside of `with`",
    end=_END,
    cause="The block of `with` had ended when the next event was asked for.",
    example={"file": "binlog.000042", "position": 1187},
)
PASSED_OVER = ErrorCode(
    "C309",
    "{file}:{position}: the events of this transaction were skipped",
    "read them before you ask for the next transaction",
    end=_END,
    cause="A transaction is read as a stream: its events are not kept.",
    example={"file": "binlog.000042", "position": 1187},
)
NO_PYARROW = ErrorCode(
    "C311",
    "Arrow needs pyarrow",
    "pip install 'binlog-connector[arrow]'",
    end=_END,
    cause="Arrow is an extra of the package, which is not installed.",
)
SCHEMAS_COLUMNS = ErrorCode(
    "C312",
    "schemas has {given} columns of {table}, but the log has {count}",
    "give the columns that the table had when its rows were written",
    end=_END,
    cause="The table was changed since, or another one has its name.",
    example={"given": 5, "table": "erp.orders", "count": 4},
)
COLUMN_OF_BATCH = ErrorCode(
    "C313",
    "table {table} has a column {column}, as every batch has",
    "leave the table out",
    end=_END,
    cause="A batch has columns of its own, which say what was changed and when.",
    example={"table": "erp.orders", "column": "op"},
)
NO_TRANSACTION = ErrorCode(
    "C314",
    "{log}: the log has no transaction {gtid}",
    "find the log that has it: `binlog-connector stat` shows the GTIDs of a log",
    end=_END,
    cause="The whole log was read, and the transaction to begin with was not in it.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)
NO_TRANSACTION_BEFORE_STOP = ErrorCode(
    "C315",
    "{log}: the log has no transaction {gtid} before stop_time",
    "give a later stop_time, or another log",
    end=_END,
    cause="Reading reached stop_time before the transaction to begin with.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)
OTHER_FLAVOUR = ErrorCode(
    "C316",
    "skip_gtids {skip} cannot be compared with {gtid}, a GTID of another flavour",
    "give GTIDs as the log has them",
    end=_END,
    cause="MySQL and MariaDB number transactions differently.",
    example={"skip": "0-1-5", "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42"},
)
NOT_ONE_GTID = ErrorCode(
    "C317",
    "start_gtid: {text!r} is not one GTID",
    "give the GTID of the first transaction to read",
    end=_END,
    cause="Reading begins with one transaction, and the argument names none, or more.",
    example={"text": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
)
NO_TIME_ZONE = ErrorCode(
    "C318",
    "{argument} {time} has no time zone",
    "give one, such as timezone.utc",
    end=_END,
    cause="The log has times in UTC, and a time without a zone is not a moment.",
    example={"argument": "start_time", "time": "2026-01-31T12:00:00"},
)
NO_EVENT_TYPE = ErrorCode(
    "C319",
    "--type {pattern}: no event type has this name",
    "give one such as WRITE_ROWS_EVENT",
    end=_END,
    cause="The name is not one of MySQL's or MariaDB's event types.",
    example={"pattern": "WRITE"},
)
OTHER_EVENT_TYPE = ErrorCode(
    "C321",
    "--type {pattern}: no event type has this name",
    "did you mean {meant}?",
    end=_END,
    cause="The name is not one of MySQL's or MariaDB's event types, but near to one.",
    example={"pattern": "WRTE_ROWS", "meant": "WRITE_ROWS"},
)
FOLDER = ErrorCode(
    "C322",
    "{path}: {why}",
    "name the logs in it",
    end=_END,
    cause="A log is a file. A folder may hold files that are no logs.",
    example={"path": "/var/lib/mysql", "why": "Is a directory"},
)
UNREADABLE = ErrorCode(
    "C320",
    "{path}: {why}",
    "give the path of a log that this account may read",
    end=_END,
    cause="The operating system refuses to open or to read the file.",
    example={"path": "binlog.000042", "why": "No such file or directory"},
)
