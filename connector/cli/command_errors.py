"""Commands, their options, and a running pipeline that they speak with."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

UNKNOWN_COMMAND = ErrorCode(
    "C221",
    "there is no command {name!r}",
    "the commands are {known}",
    end=End.CONFIGURATION,
    cause="The first argument names a command.",
    example={"name": "foo", "known": ("run", "check")},
)

UNKNOWN_COMMAND_MEANT = ErrorCode(
    "C222",
    "there is no command {name!r}",
    "did you mean {meant}? The commands are {known}",
    end=End.CONFIGURATION,
    cause="The first argument names a command.",
    example={"name": "chek", "meant": "check", "known": ("run", "check")},
)

TIME = ErrorCode(
    "C223",
    "{text!r} is not a time",
    "write it like 2026-01-31T12:00:00 or 2026-01-31T13:00:00+01:00",
    end=End.CONFIGURATION,
    cause="Times are read in the form of ISO 8601, in UTC if they have no zone.",
    example={"text": "yesterday"},
)

GTIDS = ErrorCode(
    "C224",
    "{option}: {why}",
    end=End.CONFIGURATION,
    frame=True,
    cause="The GTIDs of the option cannot be read.",
    example={"option": "--include-gtids", "why": "'0-1' is not a MariaDB GTID"},
)

NO_GTIDS = ErrorCode(
    "C225",
    "{option}: {text!r} is no set of GTIDs",
    "MySQL's look like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, MariaDB's like 0-1-5,1-2-7",
    end=End.CONFIGURATION,
    cause="The text has neither the form of MySQL nor that of MariaDB.",
    example={"option": "--include-gtids", "text": "foo"},
)

TABLE = ErrorCode(
    "C226",
    "--table {pattern}: this does not name a table",
    "write DATABASE.TABLE; * stands for any name",
    end=End.CONFIGURATION,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"pattern": ".orders"},
)

TABLE_MEANT = ErrorCode(
    "C227",
    "--table {pattern}: this does not name a table",
    "write DATABASE.TABLE; * stands for any name (did you mean {meant}?)",
    end=End.CONFIGURATION,
    cause="A pattern names databases and tables, with a dot between them.",
    example={"pattern": "erp", "meant": "erp.*"},
)

OMIT_COLUMN = ErrorCode(
    "C228",
    "--omit-column {name}: this does not name a column",
    "write DATABASE.TABLE.COLUMN",
    end=End.CONFIGURATION,
    cause="A column is named with its table and its database.",
    example={"name": "orders.total"},
)

NO_VARIABLE = ErrorCode(
    "C229",
    "--password-env {variable}: the environment has no such variable",
    "set it, or leave the option out",
    end=End.CONFIGURATION,
    cause="The password is read from this variable of the environment.",
    example={"variable": "SOURCE_PASSWORD"},
)

OUTPUT_IS_A_LOG = ErrorCode(
    "C231",
    "--output {path}: this is a log that is to be read",
    "name another file",
    end=End.CONFIGURATION,
    cause="The log would be overwritten while it is read.",
    example={"path": "binlog.000042"},
)

OUTPUT = ErrorCode(
    "C232",
    "--output {path}: {why}",
    "name a file that this user may write",
    end=End.CONFIGURATION,
    cause="The operating system refuses to create the file.",
    example={"path": "/dump.sql", "why": "Permission denied"},
)

NOT_WRITTEN = ErrorCode(
    "C233",
    "cannot write: {why}",
    "check the program that reads the output, and the free space of the disk",
    end=End.CONFIGURATION,
    cause="The operating system refuses to write more of the output.",
    example={"why": "No space left on device"},
)

_TOGETHER = "The options contradict each other, or one of them needs another one."

ONLY_WITH_SOURCE = ErrorCode(
    "C241",
    "--to-last-log and --password-env are for --source",
    "name a server with --source, or leave them out",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

NEEDS_A_LOG = ErrorCode(
    "C242",
    "--to-last-log and --start-position need the name of a log",
    "name the first log to read",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

NO_LOG = ErrorCode(
    "C243",
    "no log is named",
    "name a file, - for standard input, or a server with --source",
    end=End.CONFIGURATION,
    cause="The command reads logs, and does not know which ones.",
)

NOT_RECOVERED = ErrorCode(
    "C244",
    "--recover is for files that do not grow",
    "leave it out, or read a file to its end",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

HEXDUMP = ErrorCode(
    "C245",
    "--hexdump is for --format text",
    "leave one of them out",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

APPLY_DIFFS = ErrorCode(
    "C246",
    "--apply-diffs is for --format json",
    "add it, or leave --apply-diffs out",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

NOT_FOR_ENVELOPE = ErrorCode(
    "C247",
    "--type and --server-id are not for --format envelope, whose records count every event",
    "leave them out",
    end=End.CONFIGURATION,
    cause=_TOGETHER,
)

UNKNOWN_CODE = ErrorCode(
    "C501",
    "there is no error code {code!r}",
    "run `binlog-connector explain` for a list of all codes",
    end=End.CONFIGURATION,
    cause="A code is a letter and three digits. It stands in brackets before the text of an error.",
    example={"code": "S999"},
)

SIMILAR_CODE = ErrorCode(
    "C502",
    "there is no error code {code!r}",
    "did you mean {similar}? Run `binlog-connector explain` for a list of all codes",
    end=End.CONFIGURATION,
    cause="A code is a letter and three digits. It stands in brackets before the text of an error.",
    example={"code": "L10", "similar": "L101"},
)

STOPPED_HARD = ErrorCode(
    "R801",
    "stopped before the batch was committed",
    "it is read again by the next run",
    end=End.INTERRUPTED,
    cause="A second SIGTERM or Ctrl-C came while the batch was delivered.",
)

NOT_IN_QUARANTINE = ErrorCode(
    "R811",
    "{what}: nothing of it is in the quarantine of pipeline {pipeline}",
    "`quarantine list` shows what is kept back",
    end=End.CONFIGURATION,
    cause="The name is misspelt, or all of the table's changes were published.",
    example={"what": "erp.orders", "pipeline": "shop"},
)

COPY_HAS_FAILED = ErrorCode(
    "R815",
    "{table}: a copy of it has failed, and the rows that it did not write are missing",
    "`binlog-connector snapshot {config} {table}` copies the table again",
    cause="A fence ended a copy of the table, and a replay brings only changes.",
    example={"table": "erp.orders", "config": "connector.toml"},
)

NOT_TAKEN_UP = ErrorCode(
    "R821",
    "no pipeline {pipeline} has read the request",
    "the request is kept for a week, and done when the pipeline runs (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="The request was written, and no pipeline of this name has read it: none runs.",
    example={"pipeline": "shop"},
)

COPY_NOT_TAKEN_UP = ErrorCode(
    "R822",
    "pipeline {pipeline} has not read the request within {seconds:g} seconds",
    "the request is kept for a week: the pipeline does it after its current transaction, or at its "
    "next start (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="A running pipeline looks at requests between two source transactions.",
    example={"pipeline": "shop", "seconds": 15.0},
)

COPY_IS_SILENT = ErrorCode(
    "R823",
    "pipeline {pipeline} has reported nothing about the copy for {seconds:g} seconds",
    "its log says whether it pauses, delivers a large transaction, or does not run; the copy goes "
    "on afterwards",
    end=End.LOGGED,
    cause="A running copy reports its progress after each chunk.",
    example={"pipeline": "shop", "seconds": 60.0},
)

DISMISSED_ROWS = ErrorCode(
    "R824",
    "--dismiss and --where do not go together",
    "leave one of them out",
    end=End.CONFIGURATION,
    cause="A copy of some rows that has failed is over: nobody has to dismiss it.",
)

NO_TABLE = ErrorCode(
    "S641",
    "{source.tables} is {value}, wanted a table",
    "{pattern} matches no existing table that the account may see",
    cause="The pattern may be misspelt, the table may come later, or a grant is missing.",
    example={"value": "erp.ordrs: 0 tables", "pattern": "erp.ordrs"},
)

NO_TABLE_SEEN = ErrorCode(
    "S644",
    "{source.tables} is {value}, wanted a table",
    "to have the patterns compared with the tables, GRANT SELECT on these to the account",
    cause=(
        "A server hides tables that an account has no right to, so nobody can say whether the "
        "patterns match any. The changes of tables arrive without the right, if the log names "
        "their columns (binlog_row_metadata=FULL)."
    ),
    example={"value": "not compared: the account sees no table"},
)

KEY_FORM = ErrorCode(
    "K512",
    "table {table}, topic {topic}: the newest key ({record}) has the form {found}, but new keys "
    "get the form {wanted}",
    "set {envelope.key_format} to the form that the topic has, or choose another "
    "{kafka.topic_prefix}",
    end=End.LOGGED,
    cause=(
        "The key of a row in two forms is two keys for Kafka. They may be in different partitions, "
        "so consumers may apply an old change after a new one, and compaction keeps the last "
        "record of each. In the profile exact, all keys are json. Only `check` says this: `run` "
        "goes on, because consumers may be ready for it."
    ),
    example={
        "table": "erp.orders",
        "topic": "shop.erp.orders",
        "record": "shop.erp.orders[0]@41",
        "found": "json_with_schema",
        "wanted": "json",
    },
)

OTHER_KEY = ErrorCode(
    "K513",
    "table {table}, topic {topic}: the newest key ({record}) has a form that no "
    "{envelope.key_format} writes, and new keys get the form {wanted}",
    "choose another {kafka.topic_prefix}",
    end=End.LOGGED,
    cause=(
        "Another program has written the record, for example with the StringConverter of Kafka "
        "Connect. The key of a row in two forms is two keys for Kafka, maybe in different "
        "partitions."
    ),
    example={
        "table": "erp.orders",
        "topic": "shop.erp.orders",
        "record": "shop.erp.orders[0]@41",
        "wanted": "json",
    },
)

WHAT = ErrorCode(
    "V109",
    "verify compares mirrors, a replica or topics",
    "give one of --mirror FILE, --replica FILE and --topics",
    end=End.CONFIGURATION,
    cause="Mirrors and replicas are compared with tables, and topics with the source's log.",
)

NEEDS_MIRROR = ErrorCode(
    "V111",
    "tables, --repair, --no-values, --sample and --state are for --mirror and --replica, and "
    "--since is for --mirror",
    end=End.CONFIGURATION,
    cause="The topics are compared with the whole log between two positions. The versions of a "
    "mirror tell what has changed there since a cut, and a replica has none.",
)

NEEDS_TOPICS = ErrorCode(
    "V112",
    "--from and --to are for --topics",
    end=End.CONFIGURATION,
    cause="Mirrors and replicas are compared with the tables as they are now.",
)

FOREVER = ErrorCode(
    "V113",
    "--forever is for --mirror and --replica, without --json, --no-values, --sample, --since and "
    "--state",
    end=End.CONFIGURATION,
    cause="It compares until it is stopped, and its log is its report.",
)

ONE_PART = ErrorCode(
    "V121",
    "of --sample, --since and --state, only one can be given",
    "leave out the others",
    end=End.CONFIGURATION,
    cause="A sample and the changes since a cut are parts of a table, chosen in other ways. A pass "
    "with a state compares all rows.",
)
