"""Changes of followed tables that would not arrive as rows."""

from connector.foundation.errors.code import notice

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
