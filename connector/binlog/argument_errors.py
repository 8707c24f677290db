"""Arguments of the reader and of commands that read logs; GTIDs as text; Arrow."""

from connector.foundation.errors.code import ErrorCode, configuration_error, frame

ARGUMENT = frame("{argument}: {why}", was="C301")
TEXT_FILE = configuration_error(
    "C302",
    "{name}: opened as text",
    "open it with 'rb'",
    cause="A log is bytes, and a file that is opened as text changes them.",
    example={"name": "binlog.000042"},
)

START_POSITION = configuration_error(
    "C323",
    "{file}: {reason}",
    cause="The position is not the first byte of an event of this log.",
)
START_BEFORE_FIRST = START_POSITION.because(
    "start position {start} lies before the first event; the first event is at {first}", was="C303"
)
START_INSIDE = START_POSITION.because(
    "no event starts at start position {start}, which lies inside of the one from {first} to "
    "{last}; `binlog-connector dump --format events` shows where events start",
    was="C304",
)
START_AFTER_END = START_POSITION.because(
    "start position {start} lies after the end of the log, {last}; check whether it belongs to "
    "another log",
    was="C305",
)

NO_LOG = configuration_error(
    "C306",
    "no log is given",
    "give a file or more",
    cause="The reader was called with an empty list of logs.",
)
NOT_FOLLOWED = configuration_error(
    "C307",
    "{name}: only a file that is not compressed can be followed",
    "follow the log that the server writes",
    cause="To follow a log is to read on while it grows. Compressed files and streams do not grow.",
    example={"name": "binlog.000042"},
)
LOG_DELETED = configuration_error(
    "C360",
    "{file}: this log was deleted after it had been read to its end, and the next one is not there",
    "read the logs that exist; what the others had can only come from a backup of them",
    cause="The server purged or reset its logs before they were read, or a program replaced the "
    "file.",
)
CLOSED_TOO_SOON = configuration_error(
    "C308",
    "{file}:{position}: the log was closed before its end",
    "read it inside of `with`",
    cause="The block of `with` had ended when the next event was asked for.",
)
PASSED_OVER = configuration_error(
    "C309",
    "{file}:{position}: the events of this transaction were skipped",
    "read them before you ask for the next transaction",
    cause="A transaction is read as a stream: its events are not kept.",
)
SCHEMAS_COLUMNS = configuration_error(
    "C312",
    "schemas has {given} columns of {table}, but the log has {count}",
    "give the columns that the table had when its rows were written",
    cause="The table was changed since, or another one has its name.",
    example={"given": 5},
)
COLUMN_OF_BATCH = configuration_error(
    "C313",
    "table {table} has a column {column}, as every batch has",
    "leave the table out",
    cause="A batch has columns of its own, which say what was changed and when.",
    example={"column": "op"},
)
NO_TRANSACTION = configuration_error(
    "C314",
    "{log}: the log has no transaction {gtid}",
    "find the log that has it: `binlog-connector stat` shows the GTIDs of a log",
    cause="The whole log was read, and the transaction to begin with was not in it.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)
NO_TRANSACTION_BEFORE_STOP = configuration_error(
    "C315",
    "{log}: the log has no transaction {gtid} before stop_time",
    "give a later stop_time, or another log",
    cause="Reading reached stop_time before the transaction to begin with.",
    example={"log": "binlog.000042", "gtid": "0-1-5"},
)
OTHER_FLAVOUR = configuration_error(
    "C316",
    "{argument} {gtids} cannot be compared with {gtid}, a GTID of another flavour",
    "give GTIDs as the log has them",
    cause="MySQL and MariaDB number transactions differently.",
    example={
        "argument": "skip_gtids",
        "gtids": "0-1-5",
        "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
    },
)
NOT_ONE_GTID = configuration_error(
    "C317",
    "start_gtid: {text!r} is not one GTID",
    "give the GTID of the first transaction to read",
    cause="Reading begins with one transaction, and the argument names none, or more.",
    example={"text": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
)
NO_TIME_ZONE = configuration_error(
    "C318",
    "{argument} {time} has no time zone",
    "give one, such as timezone.utc",
    cause="The log has times in UTC, and a time without a zone is not a moment.",
    example={"argument": "start_time", "time": "2026-01-31T12:00:00"},
)

EVENT_TYPE = configuration_error(
    "C319",
    "--type {pattern}: {reason}",
    cause="The name is not one of MySQL's or MariaDB's event types.",
)
NO_EVENT_TYPE = EVENT_TYPE.because("no event type has this name; give one such as WRITE_ROWS_EVENT")
OTHER_EVENT_TYPE = EVENT_TYPE.because(
    "no event type has this name; did you mean {meant}?", was="C321"
)

FOLDER = configuration_error(
    "C322",
    "{path}: {why}",
    "name the logs in it",
    cause="A log is a file. A folder may hold files that are no logs.",
    example={"path": "/var/lib/mysql", "why": "Is a directory"},
)
NO_FILE = configuration_error(
    "C320",
    "{reason}",
    cause="The operating system refuses to open or to read the file.",
    example={"path": "binlog.000042"},
)
UNREADABLE = NO_FILE.because("{path}: {why}; give the path of a log that this account may read")
URL = NO_FILE.because("a URL is given in the place of a log; name a server with --source")

MARIADB_GTID = ErrorCode(
    "C358",
    "{text!r} {reason}",
    cause="A GTID of MariaDB is a domain, a server_id and a sequence number; a position is the "
    "last one of each domain.",
)
NOT_MARIADB = MARIADB_GTID.because("is not a MariaDB GTID; it looks like 0-1-5", was="C351")
DOMAIN_TWICE = MARIADB_GTID.because(
    "names domain {domain} twice; a position has one GTID of each domain", was="C352"
)

GTID_SET = ErrorCode(
    "C359",
    "cannot read GTID set member {member!r}: {reason}",
    "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7",
    cause="A GTID set of MySQL has members with commas between them; each is a server's UUID and "
    "intervals of numbers, with an optional tag before intervals.",
)
NOT_A_UUID = GTID_SET.because("{text!r} is not a server UUID", was="C353")
NO_INTERVAL = GTID_SET.because("no interval follows the server UUID", was="C354")
INTERVAL = GTID_SET.because("{text!r} is not an interval within 1-{last}", was="C355")
NEITHER = GTID_SET.because("{text!r} is neither an interval nor a tag", was="C356")
NO_INTERVAL_OF_TAG = GTID_SET.because("no interval follows the tag {tag!r}", was="C357")

COLUMN = frame("column {column}: {why}", was="L601")
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
    cause="An Arrow string is UTF-8, and the bytes of the value cannot be converted. With "
    "`rows()` the value comes as bytes.",
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
    cause="With binlog_row_value_options=PARTIAL_JSON, the log has the changes of a document. It "
    "has the document before them only if whole rows are logged.",
)
TABLE_PATTERN = configuration_error(
    "C604",
    "{pattern!r} is not a pattern of tables",
    "it looks like shop.orders or shop.*",
    cause="A pattern has a database and a table with a dot between them.",
    example={"pattern": "orders"},
)
