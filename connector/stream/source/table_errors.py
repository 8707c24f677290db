"""Tables at the server: what they are, and conditions and filters on their rows.

The second half is about changes of followed tables that would not arrive as rows.
"""

from connector.foundation.errors.code import configuration_error, frame, notice, table_error

TABLE_MISSING = table_error(
    "S801",
    "{server}: table {table} does not exist, or the account may not read it",
    "GRANT SELECT ON {database}.* TO the account of {source.user}",
    cause="Servers hide tables that an account may not read, so the two look the same.",
)
VIEW = table_error(
    "S802",
    "{server}: {table} is a view, whose rows are not in the log",
    "name the tables that it is made of",
    cause="A view has no rows of its own. The log has the rows of its tables.",
)
SEQUENCE = table_error(
    "S803",
    "{server}: {table} is a sequence, whose values are no rows",
    "exclude it",
    cause="A sequence of MariaDB gives numbers to rows of tables. These rows are in the log.",
)
ROWS_WITHOUT_TABLE = table_error(
    "T901",
    "{server}: table {name} has rows at {file}:{position}, but does not exist, and the log up to "
    "{end_file}:{end_position} has no statement that drops it",
    "exclude the table",
    cause="The log does not name the columns of the table, so the server is asked for them. It "
    "has no such table, or the account does not see it.",
    example={"end_file": "binlog.000042", "end_position": 90210},
)
LABELS_UNCERTAIN = table_error(
    "T902",
    "{server}: table {name}: the log does not name the labels of column {column}, and the server "
    "shows some characters of them as `?`",
    "SET GLOBAL binlog_row_metadata=FULL, or exclude the table",
    cause="Labels of ENUM and SET may have characters that information_schema cannot show, so "
    "they are known from the log alone.",
    example={"column": "mood"},
)
COPY = frame("copy of table {name}: {why}", was="T905")
NOT_SHOWN = table_error(
    "T906",
    "table {name}: the log does not name its columns, and the server does not show them: {why}",
    cause="The server is asked for the columns of the table, by its name. It refuses: the account "
    "may not read the table, or the table is damaged.",
    example={
        "why": "source db1:3306: error 1142: SELECT command denied to user 'cdc'@'%' for table "
        "'orders'; GRANT SELECT on the table TO the account of source.user"
    },
)

ROW_FILTER = table_error(
    "T509",
    "the filter of {table} {reason}",
    "correct {envelope.filters}: docs/topics.md says what one may compare",
    cause="A filter must have the same result here as on the server.",
)
FILTER_NO_COLUMN = ROW_FILTER.because(
    "names {column}, which is no column of its records", was="T501"
)
MASKED = ROW_FILTER.because("names {column}, which is masked", was="T502")
NOT_COMPARABLE = ROW_FILTER.because(
    "compares {what}, and can only tell whether it is NULL", was="T503"
)
KINDS = ROW_FILTER.because("compares {one} with {other}", was="T504")
ORDER = ROW_FILTER.because("asks for the order of texts, of {what}", was="T505")
NO_MOMENT = ROW_FILTER.because("compares a date with {constant!r}", was="T506")
LIKE = ROW_FILTER.because(
    "uses LIKE for something else than a text column and a text, for {what}", was="T507"
)
NO_TRUTH = ROW_FILTER.because("takes {what} for true or false", was="T508")

ARGUMENT = frame("--where: {why}", was="R201")
ARGUMENT_OF_TABLE = frame("{table}: --where: {why}", was="R202")

CONDITION = configuration_error(
    "R240",
    "the condition {reason}",
    "docs/snapshot.md says what one may hold",
    cause="Every account with the right to write to the topic of commands can send a condition. "
    "So a condition may only choose rows of one table, by the values that its records show.",
)
NOT_ONE = CONDITION.because(
    "is not one expression: look at its operators and parentheses", was="R211"
)
TWO_WAYS = CONDITION.because(
    "can be read in two ways: put parentheses around its parts", was="R212"
)
LENGTH = CONDITION.because("has {length} characters, of {limit} at most", was="R213")
BACKSLASH = CONDITION.because("holds a backslash: write X'5C' instead", was="R214")
CONTROL = CONDITION.because("holds a control character", was="R215")
QUOTES = CONDITION.because("cannot be read: look at its quotes", was="R216")
EMPTY = CONDITION.because("is empty", was="R217")
COMMENT = CONDITION.because("holds a comment", was="R218")
HEXADECIMAL = CONDITION.because("holds {word}: write X'…'", was="R219")
FUNCTION = CONDITION.because("calls {word}, which is none of the functions that it may", was="R220")
WORD = CONDITION.because("holds {word}", was="R221")
CLOSES = CONDITION.because("closes a parenthesis that is not open", was="R222")
DEPTH = CONDITION.because("is nested more than {limit} deep", was="R223")
IS_OTHER = CONDITION.because(
    "compares by IS with something else than NULL, TRUE and FALSE", was="R224"
)
ESCAPE = CONDITION.because("has an ESCAPE that is not one plain character after LIKE", was="R225")
UNKNOWN_FUNCTION = CONDITION.because("calls a function that it may not", was="R226")
STAR = CONDITION.because("holds * where a column should be", was="R227")
OTHER_TABLE = CONDITION.because("names another table than {table}", was="R228")
CONDITION_NO_COLUMN = CONDITION.because(
    "names a column that {table} does not have, {column}", was="R229"
)
OTHER = CONDITION.because(
    "holds something else than comparisons of columns and constants", was="R230"
)
HIDDEN_COLUMN = CONDITION.because(
    "reads {column}, whose values the records of {table} do not show", was="R233"
)

CALCULATES = configuration_error(
    "R231",
    "the condition calls a function or calculates, which a filter cannot",
    "docs/topics.md says what one may hold",
    cause="A filter is evaluated here, and must have the same result as on the server.",
)
FILTER = frame("envelope.filters, {tables}: {why}", was="R232")

SURROGATE_KEYS = table_error(
    "R329",
    "copy of table {table}: surrogate-key {column} {reason}",
    "name another column, or leave surrogate-key out",
    cause="The table is read in the order of that column, each chunk after the last row of the "
    "one before.",
)
SURROGATE_KEY = SURROGATE_KEYS.because(
    "is not one of the columns of its records that are NOT NULL and alone a unique key", was="R326"
)
SURROGATE_KEY_MASKED = SURROGATE_KEYS.because("is masked by {source.masks}", was="R327")


_RECONNECT = "{how}; sessions that are open keep the old value until they reconnect"
_TEXT = (
    "A statement in the log is a text. It does not say which rows it has changed, so the stream "
    "stops before it. docs/logging-rules.md explains the rules."
)
STATEMENT_FORMAT = notice(
    "S661",
    "the log has the text of each statement, because binlog_format is STATEMENT",
    _RECONNECT,
    cause=_TEXT,
)
MIXED_FORMAT = notice(
    "S662",
    "the log has the text of each statement that is safe, because binlog_format is MIXED",
    _RECONNECT,
    cause=f"MIXED logs rows only for statements that are unsafe. {_TEXT}",
)
CREATE_SELECT = notice(
    "S663",
    "CREATE TABLE … SELECT is logged as its text, because binlog_format is {value}",
    "nothing is lost: the new table is copied",
    cause="With binlog_format ROW, the log has the table and its rows.",
    example={"value": "MIXED"},
)
TEMPORARY_TABLES = notice(
    "S664",
    "a change that reads a temporary table is logged as its text, because binlog_format is {value}",
    _RECONNECT,
    cause="With binlog_format ROW, temporary tables are not logged, and what is read from them is "
    "in the rows of the other tables.",
    example={"value": "STATEMENT"},
)
_ENGINE = (
    "The engine of a table decides whether its rows can be logged, and which rows there are to log."
)
NO_ROWS = notice(
    "S665",
    "{engine} cannot log rows: the server refuses changes with error 1662, or logs their text if "
    "binlog_format is not ROW",
    cause=_ENGINE,
    example={"engine": "EXAMPLE"},
)
BLACKHOLE = notice(
    "S666",
    "BLACKHOLE keeps no rows: the log has those of INSERT, and UPDATE and DELETE find none",
    cause=_ENGINE,
)
MERGED = notice(
    "S667",
    "a table of {engine} is a union of others: the log has each row once, under the name that the "
    "statement uses",
    "follow the tables of the union, and let statements name only these",
    cause="A change through the union is no change of its tables in the log, and a change of its "
    "tables is no change of the union.",
    example={"engine": "MRG_MyISAM"},
)
REMOTE = notice(
    "S668",
    "the rows of {engine} are on another server: the log has only what is changed through this one",
    "follow the other server",
    cause=_ENGINE,
    example={"engine": "FEDERATED"},
)
EMPTIED = notice(
    "S680",
    "MEMORY is empty after a restart of the server, which a server of this version can log as the "
    "text of a DELETE; the stream stops at it",
    "or upgrade: MySQL 8.0.22, MariaDB 10.11 and later log TRUNCATE, which the stream follows",
    cause="The server logs the loss of the rows when the table is used again, in each "
    "binlog_format. A DELETE in the log is a change that was logged as a statement.",
)
UNKNOWN_ENGINE = notice(
    "S669",
    "it is not known whether {engine} can log rows",
    "change a row of the table, and read the log with `binlog-connector dump`",
    cause=f"{_ENGINE} The connector knows the engines of MySQL and MariaDB, and few others.",
    example={"engine": "SPIDER"},
)
PARTIAL_JSON = notice(
    "S670",
    "an update has only the changes of a JSON document, because binlog_row_value_options is "
    "PARTIAL_JSON, and binlog_row_image {value} leaves out the document",
    _RECONNECT,
    cause="With binlog_row_image FULL, the row has the document before the update, so nothing is "
    "lost.",
    example={"value": "NOBLOB", "how": "SET PERSIST binlog_row_image = 'FULL'"},
)
_PROGRAMS = (
    "With binlog_format ROW, the log has the rows that a trigger or an event changes, in whatever "
    "table. With STATEMENT or MIXED, it can have the text of the statement instead."
)
PROGRAMS = notice(
    "S671",
    "these write followed tables for statements on others; if a session has another binlog_format "
    "than ROW, the log can have the text of such a statement, and the stream stops at it",
    "let no account change binlog_format",
    cause=_PROGRAMS,
)
UNSEEN_PROGRAMS = notice(
    "S672",
    "these write followed tables for statements on databases that are not followed; if a session "
    "has another binlog_format than ROW, the log can have the text of such a statement, and it "
    "passes unseen",
    "let no account change binlog_format, or follow a table of these databases, so that the stream "
    "stops at such a statement",
    cause=f"{_PROGRAMS} MariaDB does not log which databases a statement has changed.",
)
UNKNOWN_PROGRAMS = notice(
    "S673",
    "it is not known which tables these write",
    "look for followed tables in them: `check` lists only what it understands",
    cause="The program has a statement that the parser does not know, a statement that it makes "
    "when it runs, or a procedure whose text the account does not see.",
)
OTHER_FORMAT_IN_PROGRAMS = notice(
    "S674",
    "these change how their session logs",
    "take the statement out of them, or see to it that they change no followed table",
    cause="A procedure or an event can set binlog_format, binlog_row_image and sql_log_bin for "
    "its session. With sql_log_bin = 0, the log has nothing of its changes.",
)
NO_KEY = notice(
    "S675",
    "these tables have no primary key, and no unique key without nullable columns: their rows "
    "arrive without a key",
    cause="The primary key equivalent says which row was changed. Without it, only all columns "
    "together do, and equal rows cannot be distinguished. A mirror has such a table only in the "
    "modes journal and rows.",
)
ROW_IMAGE = notice(
    "S676",
    "rows lack columns, because {name} is {value}",
    _RECONNECT,
    cause="A row of an update or a delete has only the columns that the row image names.",
    example={
        "name": "binlog_row_image",
        "value": "NOBLOB",
        "how": "SET PERSIST binlog_row_image = 'FULL'",
    },
)
HIDDEN = notice(
    "S677",
    "the account does not see all {objects} of this server, so that some may be missing here",
    "GRANT {rights} ON *.* TO {account}",
    cause="A server shows these only to accounts with rights on them. Only `check` needs the "
    "rights, so you may take them back after it.",
    example={"objects": ("triggers", "events"), "rights": ("TRIGGER", "EVENT")},
)
SESSIONS = notice(
    "S678",
    "open sessions with {name} = {value}: {count}",
    "find what sets it, and let these sessions reconnect without it",
    cause="A session can have another value than the server.",
    example={"name": "binlog_format", "value": "STATEMENT"},
)
NOT_SEEN = notice(
    "S679",
    "not seen: sessions of accounts with {rights} can change binlog_format for themselves, or set "
    "sql_log_bin = 0, after which the log has nothing of their changes",
    cause="No server shows what sessions will do, nor what they did before.",
    example={"rights": "SESSION_VARIABLES_ADMIN or SUPER"},
)
GENERATED = notice(
    "S681",
    "the records leave out generated columns, because the log of this server does not have them in "
    "rows of UPDATE and DELETE",
    "compute them where the records are read",
    cause="MariaDB logs them only for INSERT since 10.6.28, 10.11.19, 11.4.13 and 11.8.9, in each "
    "binlog_row_image.",
)
VERSIONS = notice(
    "S682",
    "these tables have versions by numbers of transactions: the log has the text of each change, "
    "in each binlog_format, and the stream stops at it",
    "give them versions by time (columns of the type TIMESTAMP(6)), or exclude them",
    cause="The number of a transaction is not that of the replica, so MariaDB logs no rows of "
    "tables whose ROW START and ROW END are BIGINT UNSIGNED.",
)
