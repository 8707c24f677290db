"""Commands, their options, and a running pipeline that they speak with."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, frame, notice

COMMAND = configuration_error(
    "C221",
    "there is no command {name!r}{reason}",
    cause="The first argument names a command.",
)
UNKNOWN_COMMAND = COMMAND.because("; the commands are {known}")
UNKNOWN_COMMAND_MEANT = COMMAND.because(
    "; did you mean {meant}? The commands are {known}", was="C222"
)

TIME = configuration_error(
    "C223",
    "{text!r} is not a time",
    "write it like 2026-01-31T12:00:00 or 2026-01-31T13:00:00+01:00",
    cause="Times are read in the form of ISO 8601, in UTC if they have no zone.",
    example={"text": "yesterday"},
)
GTIDS = frame("{option}: {why}", was="C224")
NO_GTIDS = configuration_error(
    "C225",
    "{option}: {text!r} is no set of GTIDs",
    "MySQL's look like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, MariaDB's like 0-1-5,1-2-7",
    cause="The text has neither the form of MySQL nor that of MariaDB.",
    example={"option": "--include-gtids", "text": "foo"},
)

TABLE_PATTERN = configuration_error(
    "C226",
    "--table {pattern}: this does not name a table{reason}",
    cause="A pattern names databases and tables, with a dot between them.",
)
TABLE = TABLE_PATTERN.because("; write DATABASE.TABLE; * stands for any name")
TABLE_MEANT = TABLE_PATTERN.because(
    "; write DATABASE.TABLE; * stands for any name (did you mean {meant}?)", was="C227"
)

OMIT_COLUMN = configuration_error(
    "C228",
    "--omit-column {name}: this does not name a column",
    "write DATABASE.TABLE.COLUMN",
    cause="A column is named with its table and its database.",
    example={"name": "orders.total"},
)
NO_VARIABLE = configuration_error(
    "C229",
    "--password-env {variable}: the environment has no such variable",
    "set it, or leave the option out",
    cause="The password is read from this variable of the environment.",
    example={"variable": "SOURCE_PASSWORD"},
)
OUTPUT_IS_A_LOG = configuration_error(
    "C231",
    "--output {path}: this is a log that is to be read",
    "name another file",
    cause="The log would be overwritten while it is read.",
    example={"path": "binlog.000042"},
)
OUTPUT = configuration_error(
    "C232",
    "--output {path}: {why}",
    "name a file that this user may write",
    cause="The operating system refuses to create the file.",
    example={"path": "/dump.sql", "why": "Permission denied"},
)
NOT_WRITTEN = configuration_error(
    "C233",
    "cannot write: {why}",
    "check the program that reads the output, and the free space of the disk",
    cause="The operating system refuses to write more of the output.",
    example={"why": "No space left on device"},
)

OPTIONS = configuration_error(
    "C249",
    "{reason}",
    cause="The options contradict each other, or one of them needs another one.",
)
ONLY_WITH_SOURCE = OPTIONS.because(
    "--to-last-log and --password-env are for --source; name a server with --source, or leave "
    "them out",
    was="C241",
)
NEEDS_A_LOG = OPTIONS.because(
    "--to-last-log and --start-position need the name of a log; name the first log to read",
    was="C242",
)
STOP_NEEDS_A_LOG = OPTIONS.because(
    "--stop-position needs the name of the last log to read, and so does not go with --to-last-log "
    "and --stop-never; name the logs of the server up to that one"
)
NOT_RECOVERED = OPTIONS.because(
    "--recover is for files that do not grow; leave it out, or read a file to its end", was="C244"
)
HEXDUMP = OPTIONS.because("--hexdump is for --format text; leave one of them out", was="C245")
APPLY_DIFFS = OPTIONS.because(
    "--apply-diffs is for --format json; add it, or leave --apply-diffs out", was="C246"
)
NOT_FOR_ENVELOPE = OPTIONS.because(
    "--type and --server-id are not for --format envelope, whose records count every event; "
    "leave them out",
    was="C247",
)
DISMISSED_ROWS = OPTIONS.because(
    "--dismiss and --where do not go together; leave one of them out", was="R824"
)
NO_EFFECT = OPTIONS.because(
    "with {way}, these have no effect: {ignored}; leave them out", was="V111 V112 V113"
)
NEEDS_SAMPLE = OPTIONS.because("--seed is for --sample; add it, or leave --seed out")
ONE_PART = OPTIONS.because(
    "of --sample, --since and --state, only one can be given; leave out the others", was="V121"
)
NEEDS_URL = OPTIONS.because(
    "--tables, --format, --password-env and --listen need the URL of the source; add it, or leave "
    "them out"
)
NEEDS_ONCE = OPTIONS.because("--verify is for --once; add it, or leave --verify out")
NO_CONFIG = OPTIONS.because("CONFIG is missing: only --check does without it")
LISTEN_ALONE = OPTIONS.because(
    "--listen serves a page until it is stopped; leave out --json and --watch"
)
TABLES_OF_ONE = OPTIONS.because("--table, --limit and --all are for the tables of one pipeline")
NO_FILES = configuration_error(
    "C251",
    "{folder}: there is no configuration in this folder",
    "name a folder with the files of pipelines, whose names end with .toml, or the files",
    cause="A folder stands for each file in it whose name ends with .toml.",
    example={"folder": "/etc/binlog-connector"},
)

NO_LOG = configuration_error(
    "C243",
    "no log is named",
    "name a file, - for standard input, or a server with --source",
    cause="The command reads logs, and does not know which ones.",
)

CODE = configuration_error(
    "C501",
    "there is no error code {code!r}{reason}",
    cause="A code is a letter and three digits. It stands in brackets before the text of an error.",
)
UNKNOWN_CODE = CODE.because("; run `binlog-connector explain` for a list of all codes")
SIMILAR_CODE = CODE.because(
    "; did you mean {similar}? Run `binlog-connector explain` for a list of all codes", was="C502"
)

STOPPED_HARD = ErrorCode(
    "R801",
    "stopped before the batch was committed",
    "it is read again by the next run",
    end=End.INTERRUPTED,
    cause="A second SIGTERM or Ctrl-C came while the batch was delivered.",
)
NOT_IN_QUARANTINE = configuration_error(
    "R811",
    "{what}: nothing of it is in the quarantine of pipeline {pipeline}",
    "`quarantine list` shows what is kept back",
    cause="The name is misspelt, or all of the table's changes were published.",
    example={"what": "erp.orders"},
)
COPY_HAS_FAILED = ErrorCode(
    "R815",
    "{table}: a copy of it has failed, and the rows that it did not write are missing",
    "`binlog-connector snapshot {config} {table}` copies the table again",
    cause="A fence ended a copy of the table, and a replay brings only changes.",
    example={"config": "connector.toml"},
)

REQUEST_UNREAD = ErrorCode(
    "R825",
    "{reason}",
    "the request is kept for a week{then} (binlog-connector run CONFIG)",
    end=End.COMMAND,
    cause="A running pipeline looks at requests between two source transactions; one that is "
    "stopped reads them at its start.",
)
NOT_TAKEN_UP = REQUEST_UNREAD.because(
    "no pipeline {pipeline} has read the request",
    then=", and done when the pipeline runs",
    was="R821",
)
COPY_NOT_TAKEN_UP = REQUEST_UNREAD.because(
    "pipeline {pipeline} has not read the request within {seconds:g} seconds",
    then=": the pipeline does it after its current transaction, or at its next start",
    was="R822",
)

COPY_IS_SILENT = notice(
    "R823",
    "pipeline {pipeline} has reported nothing about the copy for {seconds:g} seconds",
    "its log says whether it pauses, delivers a large transaction, or does not run; the copy goes "
    "on afterwards",
    cause="A running copy reports its progress after each chunk.",
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
    cause="A server hides tables that an account has no right to, so nobody can say whether the "
    "patterns match any. The changes of tables arrive without the right, if the log names their "
    "columns (binlog_row_metadata=FULL).",
    example={"value": "not compared: the account sees no table"},
)
KEY_FORM = notice(
    "K512",
    "table {table}, topic {topic}: the newest key ({record}) has the form {found}, but new keys "
    "get the form {wanted}",
    "set {envelope.key_format} to the form that the topic has, or choose another "
    "{kafka.topic_prefix}",
    cause="The key of a row in two forms is two keys for Kafka. They may be in different "
    "partitions, so consumers may apply an old change after a new one, and compaction keeps the "
    "last record of each. In the profile exact, all keys are json. Only `check` says this: `run` "
    "goes on, because consumers may be ready for it.",
    example={"record": "shop.erp.orders[0]@41", "found": "json_with_schema", "wanted": "json"},
)
OTHER_KEY = notice(
    "K513",
    "table {table}, topic {topic}: the newest key ({record}) has a form that no "
    "{envelope.key_format} writes, and new keys get the form {wanted}",
    "choose another {kafka.topic_prefix}",
    cause="Another program has written the record, for example with the StringConverter of Kafka "
    "Connect. The key of a row in two forms is two keys for Kafka, maybe in different partitions.",
    example={"record": "shop.erp.orders[0]@41", "wanted": "json"},
)
WHAT = configuration_error(
    "V109",
    "verify compares mirrors, a replica, topics or tables of other programs",
    "give one of --mirror FILE, --replica FILE, --topics and --table TABLE=TARGET",
    cause="Mirrors, replicas and tables of other programs are compared with tables of the source, "
    "and topics with its log.",
)
