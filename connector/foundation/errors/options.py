"""C220: options of the command line."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION
_TOGETHER = "The options contradict each other, or one of them needs another one."

UNKNOWN_COMMAND = ErrorCode(
    "C221",
    "there is no command {name!r}",
    "the commands are {known}",
    end=_END,
    cause="The first argument names a command.",
    example={"name": "foo", "known": ("run", "check")},
)
UNKNOWN_COMMAND_MEANT = ErrorCode(
    "C222",
    "there is no command {name!r}",
    "did you mean {meant}? The commands are {known}",
    end=_END,
    cause="The first argument names a command.",
    example={"name": "chek", "meant": "check", "known": ("run", "check")},
)
TIME = ErrorCode(
    "C223",
    "{text!r} is not a time",
    "write it like 2026-01-31T12:00:00 or 2026-01-31T13:00:00+01:00",
    end=_END,
    cause="Times are read in the form of ISO 8601, in UTC if they have no zone.",
    example={"text": "yesterday"},
)
GTIDS = ErrorCode(
    "C224",
    "{option}: {why}",
    end=_END,
    frame=True,
    cause="The GTIDs of the option cannot be read.",
    example={"option": "--include-gtids", "why": "'0-1' is not a MariaDB GTID"},
)
NO_GTIDS = ErrorCode(
    "C225",
    "{option}: {text!r} is no set of GTIDs",
    "MySQL's look like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, MariaDB's like 0-1-5,1-2-7",
    end=_END,
    cause="The text has neither the form of MySQL nor that of MariaDB.",
    example={"option": "--include-gtids", "text": "foo"},
)
TABLE = ErrorCode(
    "C226",
    "--table {pattern}: this does not name a table",
    "write DATABASE.TABLE; * stands for any name",
    end=_END,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"pattern": ".orders"},
)
TABLE_MEANT = ErrorCode(
    "C227",
    "--table {pattern}: this does not name a table",
    "write DATABASE.TABLE; * stands for any name (did you mean {meant}?)",
    end=_END,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"pattern": "erp", "meant": "erp.*"},
)
OMIT_COLUMN = ErrorCode(
    "C228",
    "--omit-column {name}: this does not name a column",
    "write DATABASE.TABLE.COLUMN",
    end=_END,
    cause="A column is named with its table and its database.",
    example={"name": "orders.total"},
)
NO_VARIABLE = ErrorCode(
    "C229",
    "--password-env {variable}: the environment has no such variable",
    "set it, or leave the option out",
    end=_END,
    cause="The password is read from this variable of the environment.",
    example={"variable": "SOURCE_PASSWORD"},
)
OUTPUT_IS_A_LOG = ErrorCode(
    "C231",
    "--output {path}: this is a log that is to be read",
    "name another file",
    end=_END,
    cause="The log would be overwritten while it is read.",
    example={"path": "binlog.000042"},
)
OUTPUT = ErrorCode(
    "C232",
    "--output {path}: {why}",
    "name a file that this user may write",
    end=_END,
    cause="The operating system refuses to create the file.",
    example={"path": "/dump.sql", "why": "Permission denied"},
)
NOT_WRITTEN = ErrorCode(
    "C233",
    "cannot write: {why}",
    "check the program that reads the output, and the free space of the disk",
    end=_END,
    cause="The operating system refuses to write more of the output.",
    example={"why": "No space left on device"},
)
ONLY_WITH_SOURCE = ErrorCode(
    "C241",
    "--to-last-log and --password-env are for --source",
    "name a server with --source, or leave them out",
    end=_END,
    cause=_TOGETHER,
)
NEEDS_A_LOG = ErrorCode(
    "C242",
    "--to-last-log and --start-position need the name of a log",
    "name the first log to read",
    end=_END,
    cause=_TOGETHER,
)
JOB_ENDED = ErrorCode(
    "C248",
    "{path}: the process that read this log has ended with {status}",
    "look for what ended it, such as a lack of memory, and repeat the command, with fewer --jobs",
    end=_END,
    cause="With --jobs, each log is read by a process of its own, and one of them was ended.",
    example={"path": "binlog.000042", "status": "signal 9"},
)
NO_LOG = ErrorCode(
    "C243",
    "no log is named",
    "name a file, - for standard input, or a server with --source",
    end=_END,
    cause="The command reads logs, and does not know which ones.",
)
NOT_RECOVERED = ErrorCode(
    "C244",
    "--recover is for files that do not grow",
    "leave it out, or read a file to its end",
    end=_END,
    cause=_TOGETHER,
)
HEXDUMP = ErrorCode(
    "C245",
    "--hexdump is for --format text",
    "leave one of them out",
    end=_END,
    cause=_TOGETHER,
)
APPLY_DIFFS = ErrorCode(
    "C246",
    "--apply-diffs is for --format json",
    "add it, or leave --apply-diffs out",
    end=_END,
    cause=_TOGETHER,
)
NOT_FOR_ENVELOPE = ErrorCode(
    "C247",
    "--type and --server-id are not for --format envelope, whose records count every event",
    "leave them out",
    end=_END,
    cause=_TOGETHER,
)
