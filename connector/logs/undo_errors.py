"""What `flashback` cannot undo."""

from connector.foundation.errors.code import ErrorCode, configuration_error, frame

IN_EVENT = frame("{file}:{position}: {why}", was="L621")
ROW = frame("{file}:{position}: a row of {table} cannot be undone: {why}", was="L622")
NO_NAMES = ErrorCode(
    "L623",
    "the log does not name the columns of {table}",
    "only what was written with binlog_row_metadata=FULL can be undone",
    cause="A statement that undoes a change names columns, and the log has no names.",
)
NOT_IN_IMAGE = ErrorCode(
    "L624",
    "its image lacks column {column}",
    "if it is a generated column, or the hash of a unique key, leave it out (--omit-column); "
    "otherwise, only what was written with binlog_row_image=FULL can be undone",
    cause="With binlog_row_image=MINIMAL the log does not have all columns of a row. Newer "
    "MariaDB servers leave generated columns and hashes (DB_ROW_HASH_1) out of rows of UPDATE and "
    "DELETE, with FULL, too.",
)

BY_HAND = ErrorCode(
    "L627",
    "{reason}",
    "undo {scope} by hand",
    cause="The text of a statement would not bring the value or the name back.",
)
JSON_DECIMAL = BY_HAND.because(
    "a JSON document holds a DECIMAL of {length} characters, which its text does not bring back",
    scope="this transaction",
    was="L625",
)
NAME = BY_HAND.because(
    "{table} has a name that not every client would read as one: {name!r}",
    scope="the changes of this table",
    was="L626",
)

NOT_UNDONE = ErrorCode(
    "L637",
    "{file}:{position}: cannot undo {reason}",
    "select changes after it alone (--start-position), or other tables",
    cause="The log does not hold what undoing it takes.",
)
XA = NOT_UNDONE.because("an XA transaction, whose outcome stands elsewhere in the log", was="L631")
LOAD = NOT_UNDONE.because(
    "LOAD DATA, logged as a statement, so that which rows it changed is not in the log", was="L632"
)
CUT_LOG = NOT_UNDONE.because(
    "this log, which ends inside an event although it is not the last one, so that changes may be "
    "missing after it"
)
INCIDENT = NOT_UNDONE.because(
    "an incident: the server reports that changes may be missing", was="L633"
)
ROLLBACK = NOT_UNDONE.because(
    "{verb} after row changes: which of them stayed is not in the log", was="L634"
)
STATEMENT = NOT_UNDONE.because(
    "{verb}, logged as a statement, so that which rows it changed is not in the log",
    was="L635",
)
DDL = NOT_UNDONE.because("{verb} on {table}, after row changes that are selected", was="L636")

NO_SUCH_COLUMN = configuration_error(
    "C278",
    "--omit-column {name}: in the log, {table} has no such column",
    "write the name as SHOW CREATE TABLE does",
    cause="A statement that sets a generated column would fail in the middle of the SQL, so a name "
    "that no column has is no way to leave it out.",
    example={"name": "shop.orders.totl", "table": "shop.orders"},
)

JOB_ENDED = configuration_error(
    "C248",
    "{path}: the process that read this log has ended with {status}",
    "look for what ended it, such as a lack of memory, and repeat the command, with fewer --jobs",
    cause="With --jobs, each log is read by a process of its own, and one of them was ended.",
    example={"path": "binlog.000042", "status": "signal 9"},
)
