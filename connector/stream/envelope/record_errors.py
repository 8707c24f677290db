"""Rows that have no form in a record; columns, schemas and topics of records."""

from connector.foundation.errors.code import ErrorCode, frame, table_error

IN_EVENT = frame("{log_position}: table {table}: {why}", was="T201")
IN_COPY = frame("copy of table {table}: {why}", was="T202")
NO_FORM = table_error(
    "T211",
    "column {column} has type {type}, which the envelope has no form for",
    "exclude the table",
    cause="Records have a JSON form for each type of MySQL and MariaDB, but not for this one.",
    example={"column": "price", "type": "unknown"},
)

VALUE_UNFIT = table_error(
    "T235",
    "column {column} holds {reason}",
    "correct it, or exclude the table",
    cause="The server does not check what is stored in such a column.",
)
NOT_TEXT = VALUE_UNFIT.because("a value that is not text of its character set", was="T212")
OTHER_TYPE = VALUE_UNFIT.because("a value of another type")
GEOMETRY_SIZE = VALUE_UNFIT.because("a geometry of {length} bytes", was="T213")
VECTOR_SIZE = VALUE_UNFIT.because("a vector of {length} bytes", was="T214")

SAME_KEY = table_error(
    "T217",
    "column {column} of the key holds number {number}, whose text may be that of another row",
    "exclude the table; labels with different texts, none of them empty, avoid it",
    cause="An ENUM has its error value beside an empty label, or two labels of an ENUM or SET are "
    "equal. The server tells such keys by their number. Records have the text, so consumers would "
    "take two rows for one.",
    example={"column": "state", "number": 0},
)
TIME_UNFIT = table_error(
    "T216",
    'column {column} holds a {type} that times = "{times}" cannot express',
    'choose another {envelope.times}, or conversion_failures = "null", which needs a column '
    "that can be NULL",
    cause="The forms connect and isostring express a TIME as a time of day, from 00:00:00 to "
    "24:00:00. The form nanoseconds counts a DATETIME in 64 bits, from 1677-09-22 to 2262-04-11. "
    "Debezium writes NULL then, or stops.",
    example={"column": "spent", "type": "TIME", "times": "connect"},
)
ROW_SHAPE = table_error(
    "T215",
    "copy of table {table}: the server sent a row that does not have {columns} columns",
    "bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set {source.tls.mode} to required",
    cause="Each row of an answer has a cell for each column that was asked for.",
    example={"columns": 5},
)
COLUMN_ABSENT = table_error(
    "T221",
    'a row was logged without column "{column}": a session ran with binlog_row_image=MINIMAL or '
    "NOBLOB",
    "SET GLOBAL binlog_row_image=FULL, and give the pipeline a new name with {source.start} after "
    "these rows",
    fence_fix="SET GLOBAL binlog_row_image=FULL",
    passable=True,
    cause="A record has all columns of a row. With this setting the log holds only those that "
    "changed, and each session may choose it. Newer MariaDB servers leave generated columns out "
    "with FULL, too (S681): a stream knows that, a file does not say it.",
    example={"column": "price"},
)
KEY_ABSENT = table_error(
    "T222",
    "a row of {table} was logged without its key",
    "SET GLOBAL binlog_row_image=FULL",
    cause="Changes go into quarantine by the key of their row. A session ran with "
    "binlog_row_image=MINIMAL or NOBLOB, so the log does not hold the key.",
)

NOT_NUMBERED = ErrorCode(
    "T236",
    "{reason} cannot be numbered",
    "split the change into smaller transactions",
    cause="Consumers order changes by numbers of a fixed length, and these have no room for more.",
)
MANY_ROWS = NOT_NUMBERED.because("a rows event with more than {limit} rows", was="T231")
MANY_EVENTS = NOT_NUMBERED.because(
    "{log_position}: a transaction with more than {limit} events", was="T232"
)

MASKED_GONE = table_error(
    "T401",
    "there is no column {column}, which {source.masks} names",
    "name the column that has its values now, and start again",
    cause="The table has other columns than the mask expects. If the column was renamed, its "
    "values would be published as they are.",
    example={"column": "erp.users.email"},
)
_KEYS = "Consumers find the rows of a record by its key, and copies compare keys with changes."
IN_KEY = table_error(
    "T402",
    "column {column} belongs to the key, so it cannot be left out or masked",
    "take it out of the patterns of {source.masks}, {source.columns} and {source.exclude_columns}, "
    "or exclude the table",
    cause=_KEYS,
    example={"column": "erp.users.id"},
)
NOT_MASKABLE = table_error(
    "T403",
    "column {column} has type {type}, and this change is for {types} alone",
    "leave it out by {source.exclude_columns}, or take it out of the patterns of {source.masks}",
    cause="Debezium writes the values of such columns as they are. Here that is an error.",
    example={"column": "erp.users.age", "type": "INT", "types": ("CHAR", "TEXT", "VARCHAR")},
)
NONE_LEFT = table_error(
    "T404",
    "table {table} would have no column",
    "exclude the table in {source.exclude_tables}",
    cause="The patterns in source.exclude_columns leave out all columns.",
)
NOT_IN_TABLE = table_error(
    "T406",
    "there is no column {column} in records, which {envelope.message_keys} names",
    "name columns that records have, and start again",
    cause="The keys of records have these columns, so records have them, too.",
    example={"column": "erp.orders.costumer_id"},
)
NO_AVRO_NAME = table_error(
    "T407",
    "Avro does not allow the name {name}",
    'set {envelope.field_names} = "avro" and {envelope.schema_names} = "avro", which change such '
    "names",
    cause="A name in Avro has letters of ASCII, digits and _, and does not begin with a digit. "
    "Debezium's converter stops, too.",
    example={"name": "größe"},
)
NO_NULL = table_error(
    "T408",
    "column {column} is NOT NULL, and its value became NULL",
    "choose another form in {envelope.times}, or fence the row",
    cause='With envelope.conversion_failures = "null", a value that the form cannot express '
    "becomes NULL, and a schema in Avro does not allow NULL in this column.",
    example={"column": "at"},
)
NO_LONG = table_error(
    "T409",
    "column {column} has a number above 64 bits, which Avro cannot hold",
    "choose another form in {envelope.times}",
    cause="Nanoseconds since 1970 have 64 bits until the year 2262.",
    example={"column": "at"},
)
# What `ColumnRules.of` raises.
COLUMN_CODES = (MASKED_GONE, IN_KEY, NOT_MASKABLE, NONE_LEFT)

TOPICS_SHARED = table_error(
    "T307",
    "{reason}",
    "exclude one of them in {source.exclude_tables}, or publish it from a pipeline with another "
    "{kafka.topic_prefix}",
    cause="Kafka allows few characters in the name of a topic, and in its figures it replaces "
    "each `.`.",
)
TOPIC_SHARED = TOPICS_SHARED.because(
    "tables {one} and {other} would share topic {topic}", was="T301"
)
TOPIC_ALIKE = TOPICS_SHARED.because(
    "Kafka takes topic {topic} of table {other} for topic {like} of table {one}", was="T306"
)

_CONTINUE = "give the pipeline a new name and set {source.start}"
_FULL = "SET GLOBAL binlog_row_metadata=FULL (MySQL 8.0.1, MariaDB 10.5 or newer)"
NO_COLUMN_NAMES = table_error(
    "T302",
    "{log_position}: the log has no column names for table {table}",
    f"{_FULL}, and continue after the rows that were logged without them: {_CONTINUE}",
    fence_fix=_FULL,
    passable=True,
    cause="With binlog_row_metadata=MINIMAL, the log holds the types of columns, but no names.",
)
MISFIT = table_error(
    "T303",
    "{log_position}: the log does not name the columns of table {table}, and those that the "
    "server shows have other types",
    f"{_FULL}, and continue after the rows that were logged without names: {_CONTINUE}; or exclude "
    "the table",
    fence_fix=_FULL,
    passable=True,
    cause="Without binlog_row_metadata=FULL the names come from the server, which knows the table "
    "as it is now. When these rows were logged, the table was another one.",
)
TOPIC_TAKEN = table_error(
    "T305",
    "table {table} would have topic {topic}, which a table has alone, and others by a route",
    "send both by {envelope.routes}, or choose another topic there",
    cause="A route sends tables to a topic that another table has without a route. Keys of the "
    "two could be the same.",
)
FIELD_SHARED = table_error(
    "T304",
    "columns {one} and {other} would both be field {field}",
    "choose another {envelope.field_names}, or rename one of them",
    cause="Avro allows few characters in the name of a field, so each other one is replaced.",
    example={"one": "a b", "other": "a-b", "field": "a_b"},
)
NO_COLUMN = table_error(
    "T601",
    "the outbox {table} has no column {column} in its records",
    "name its columns in [envelope.outbox], and start again",
    cause="Events have the values of a few columns; by default, those of Debezium's EventRouter.",
    example={"column": "aggregatetype"},
)
TYPE = table_error(
    "T602",
    "column {column} of type {type} cannot be a part of an event",
    "take a text, a JSON document, bytes or an integer",
    cause="Key, value and headers of an event are a text, bytes or a number.",
    example={"column": "erp.outbox.payload", "type": "GEOMETRY"},
)
NO_TOPIC = table_error(
    "T603",
    "a row of the outbox {table} has no value in {column} that could be a part of the name of a "
    "topic of events",
    "correct the program that writes such rows, and {envelope.outbox.topic_name}",
    fence_fix="correct the program that writes such rows",
    passable=True,
    cause="The value is NULL, it has characters that no topic may have, or the topic holds other "
    "records.",
    example={"column": "aggregatetype"},
)
UPDATED = table_error(
    "T604",
    "a row of the outbox {table} was updated",
    "write each event as a row of its own, or set {envelope.outbox.on_update}",
    fence_fix="write each event as a row of its own",
    passable=True,
    cause="An event that was sent cannot be changed.",
)
