"""Arguments of the reader and of commands that read logs; GTIDs as text; Arrow."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

ARGUMENT = ErrorCode(
    "C301",
    "{argument}: {why}",
    end=End.CONFIGURATION,
    frame=True,
    cause="The argument cannot be understood.",
    example={"argument": "start_gtid", "why": "'0-1' is not a MariaDB GTID"},
)

TEXT_FILE = ErrorCode(
    "C302",
    "{name}: opened as text",
    "open it with 'rb'",
    end=End.CONFIGURATION,
    cause="A log is bytes, and a file that is opened as text changes them.",
    example={"name": "binlog.000042"},
)

START_BEFORE_FIRST = ErrorCode(
    "C303",
    "{file}: start position {start} lies before the first event",
    "the first event is at {first}",
    end=End.CONFIGURATION,
    cause="The first bytes of a log name it. Events follow them.",
    example={"file": "binlog.000042", "start": 0, "first": 4},
)

START_INSIDE = ErrorCode(
    "C304",
    "{file}: no event starts at start position {start}, which lies inside of the one from {first} "
    "to {last}",
    "`binlog-connector dump --format events` shows where events start",
    end=End.CONFIGURATION,
    cause="Reading begins at the first byte of an event.",
    example={"file": "binlog.000042", "start": 100, "first": 4, "last": 126},
)

START_AFTER_END = ErrorCode(
    "C305",
    "{file}: start position {start} lies after the end of the log, {last}",
    "check whether it belongs to another log",
    end=End.CONFIGURATION,
    cause="The log is shorter than the position.",
    example={"file": "binlog.000042", "start": 9000, "last": 1251},
)

NO_LOG = ErrorCode(
    "C306",
    "no log is given",
    "give a file or more",
    end=End.CONFIGURATION,
    cause="The reader was called with an empty list of logs.",
)

NOT_FOLLOWED = ErrorCode(
    "C307",
    "{name}: only a file that is not compressed can be followed",
    "follow the log that the server writes",
    end=End.CONFIGURATION,
    cause="To follow a log is to read on while it grows. Compressed files and streams do not grow.",
    example={"name": "binlog.000042"},
)

CLOSED_TOO_SOON = ErrorCode(
    "C308",
    "{file}:{position}: the log was closed before its end",
    "read it inside of `with`",
    end=End.CONFIGURATION,
    cause="The block of `with` had ended when the next event was asked for.",
    example={"file": "binlog.000042", "position": 1187},
)

PASSED_OVER = ErrorCode(
    "C309",
    "{file}:{position}: the events of this transaction were skipped",
    "read them before you ask for the next transaction",
    end=End.CONFIGURATION,
    cause="A transaction is read as a stream: its events are not kept.",
    example={"file": "binlog.000042", "position": 1187},
)

SCHEMAS_COLUMNS = ErrorCode(
    "C312",
    "schemas has {given} columns of {table}, but the log has {count}",
    "give the columns that the table had when its rows were written",
    end=End.CONFIGURATION,
    cause="The table was changed since, or another one has its name.",
    example={"given": 5, "table": "erp.orders", "count": 4},
)

COLUMN_OF_BATCH = ErrorCode(
    "C313",
    "table {table} has a column {column}, as every batch has",
    "leave the table out",
    end=End.CONFIGURATION,
    cause="A batch has columns of its own, which say what was changed and when.",
    example={"table": "erp.orders", "column": "op"},
)

NO_TRANSACTION = ErrorCode(
    "C314",
    "{log}: the log has no transaction {gtid}",
    "find the log that has it: `binlog-connector stat` shows the GTIDs of a log",
    end=End.CONFIGURATION,
    cause="The whole log was read, and the transaction to begin with was not in it.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)

NO_TRANSACTION_BEFORE_STOP = ErrorCode(
    "C315",
    "{log}: the log has no transaction {gtid} before stop_time",
    "give a later stop_time, or another log",
    end=End.CONFIGURATION,
    cause="Reading reached stop_time before the transaction to begin with.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)

OTHER_FLAVOUR = ErrorCode(
    "C316",
    "skip_gtids {skip} cannot be compared with {gtid}, a GTID of another flavour",
    "give GTIDs as the log has them",
    end=End.CONFIGURATION,
    cause="MySQL and MariaDB number transactions differently.",
    example={"skip": "0-1-5", "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42"},
)

NOT_ONE_GTID = ErrorCode(
    "C317",
    "start_gtid: {text!r} is not one GTID",
    "give the GTID of the first transaction to read",
    end=End.CONFIGURATION,
    cause="Reading begins with one transaction, and the argument names none, or more.",
    example={"text": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
)

NO_TIME_ZONE = ErrorCode(
    "C318",
    "{argument} {time} has no time zone",
    "give one, such as timezone.utc",
    end=End.CONFIGURATION,
    cause="The log has times in UTC, and a time without a zone is not a moment.",
    example={"argument": "start_time", "time": "2026-01-31T12:00:00"},
)

NO_EVENT_TYPE = ErrorCode(
    "C319",
    "--type {pattern}: no event type has this name",
    "give one such as WRITE_ROWS_EVENT",
    end=End.CONFIGURATION,
    cause="The name is not one of MySQL's or MariaDB's event types.",
    example={"pattern": "WRITE"},
)

OTHER_EVENT_TYPE = ErrorCode(
    "C321",
    "--type {pattern}: no event type has this name",
    "did you mean {meant}?",
    end=End.CONFIGURATION,
    cause="The name is not one of MySQL's or MariaDB's event types, but near to one.",
    example={"pattern": "WRTE_ROWS", "meant": "WRITE_ROWS"},
)

FOLDER = ErrorCode(
    "C322",
    "{path}: {why}",
    "name the logs in it",
    end=End.CONFIGURATION,
    cause="A log is a file. A folder may hold files that are no logs.",
    example={"path": "/var/lib/mysql", "why": "Is a directory"},
)

UNREADABLE = ErrorCode(
    "C320",
    "{path}: {why}",
    "give the path of a log that this account may read",
    end=End.CONFIGURATION,
    cause="The operating system refuses to open or to read the file.",
    example={"path": "binlog.000042", "why": "No such file or directory"},
)

NOT_MARIADB = ErrorCode(
    "C351",
    "{text!r} is not a MariaDB GTID",
    "it looks like 0-1-5",
    cause="A GTID of MariaDB is a domain, a server_id and a sequence number.",
    example={"text": "0-1"},
)

DOMAIN_TWICE = ErrorCode(
    "C352",
    "{text!r} names domain {domain} twice",
    "a position has one GTID of each domain",
    cause="A position of MariaDB is the last GTID of each domain.",
    example={"text": "0-1-5,0-2-7", "domain": 0},
)

_FORM = (
    "A GTID set of MySQL has members with commas between them; each is a server's UUID and "
    "intervals of numbers, with an optional tag before intervals."
)

_SET = "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7"

NOT_A_UUID = ErrorCode(
    "C353",
    "cannot read GTID set member {member!r}: {text!r} is not a server UUID",
    _SET,
    cause=_FORM,
    example={"member": "3e11:1-5", "text": "3e11"},
)

NO_INTERVAL = ErrorCode(
    "C354",
    "cannot read GTID set member {member!r}: no interval follows the server UUID",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
)

INTERVAL = ErrorCode(
    "C355",
    "cannot read GTID set member {member!r}: {text!r} is not an interval within 1-{last}",
    _SET,
    cause=_FORM,
    example={
        "member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:5-1",
        "text": "5-1",
        "last": (1 << 63) - 2,
    },
)

NEITHER = ErrorCode(
    "C356",
    "cannot read GTID set member {member!r}: {text!r} is neither an interval nor a tag",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-", "text": "1-"},
)

NO_INTERVAL_OF_TAG = ErrorCode(
    "C357",
    "cannot read GTID set member {member!r}: no interval follows the tag {tag!r}",
    _SET,
    cause=_FORM,
    example={"member": "3e11fa47-71ca-11e1-9e33-c80aa9429562:audit", "tag": "audit"},
)

COLUMN = ErrorCode(
    "L601",
    "column {column}: {why}",
    frame=True,
    cause="The column, or a value of it, has no form in Arrow.",
    example={"column": "first_day", "why": "Arrow has no date 2024-00-00"},
)

NO_TYPE = ErrorCode(
    "L602",
    "its type {type} has no form in Arrow",
    cause="No released server writes columns of this type.",
    example={"type": "type 20"},
)

BATCH_TOO_LARGE = ErrorCode(
    "L603",
    "its values in one batch take more than 2 GiB",
    "ask for fewer batch_rows",
    cause="An Arrow array of strings or bytes holds 2 GiB at most.",
)

NO_DATE = ErrorCode(
    "L604",
    "Arrow has no date {value}",
    "ask for dates as text",
    cause="A server stores dates with zeros, such as 2024-00-00. Arrow has no value for them.",
    example={"value": "2024-00-00"},
)

NOT_TEXT = ErrorCode(
    "L605",
    "its value is not text of its character set",
    cause=(
        "An Arrow string is UTF-8, and the bytes of the value cannot be converted. With `rows()` "
        "the value comes as bytes."
    ),
)

NO_LABEL = ErrorCode(
    "L606",
    "its value {value} has no label",
    cause="An ENUM has fewer labels than the number that is stored. Bytes were changed.",
    example={"value": 9},
)

NO_DOCUMENT = ErrorCode(
    "L607",
    "it has changes of a document, which the log does not have",
    "SET GLOBAL binlog_row_image=FULL",
    cause=(
        "With binlog_row_value_options=PARTIAL_JSON, the log has the changes of a document. It has "
        "the document before them only if whole rows are logged."
    ),
)

TABLE_PATTERN = ErrorCode(
    "C604",
    "{pattern!r} is not a pattern of tables",
    "it looks like shop.orders or shop.*",
    end=End.CONFIGURATION,
    cause="A pattern has a database and a table with a dot between them.",
    example={"pattern": "orders"},
)
