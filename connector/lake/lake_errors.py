"""What keeps `up` from keeping a lake."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error, notice

OTHER_LAKE = configuration_error(
    "C259",
    "{folder}: this lake was made with other arguments: {option} was {recorded}, and is {wanted}",
    "use the same arguments, give another folder as --to, or edit the files in {state} and leave "
    "the arguments out",
    cause="The tables of a lake come from one source, by the choices of its first start.",
    example={
        "folder": "lake",
        "state": "lake/_cdc",
        "option": "SOURCE",
        "recorded": "mysql://cdc@db1:3306",
        "wanted": "mysql://cdc@db2:3306",
    },
)
NO_SOURCE = configuration_error(
    "C260",
    "{folder} is not a lake yet, and no source is given",
    "name it first: binlog-connector up mysql://USER@HOST/DATABASE --to {folder}",
    cause="Only a lake that was started before is known by its folder alone.",
    example={"folder": "lake"},
)
FOLDER = configuration_error(
    "C261",
    "{folder}: {why}",
    "choose a folder that this user may write to",
    cause="The operating system refuses to make or to write the folder of the lake.",
    example={"folder": "/lake", "why": "Permission denied"},
)
IN_USE = configuration_error(
    "C262",
    "{folder}: another process uses this lake",
    "stop it first, or look at it: binlog-connector status {config}",
    cause="One `up` at a time starts the programs of a lake.",
    example={"folder": "lake", "config": "lake/_cdc/connector.toml"},
)
EXTRA = configuration_error(
    "C263",
    "a package of the mirror is missing: {said}",
    "pip install 'binlog-connector[mirror]'",
    cause="The tables are written by Spark and pyarrow, which only the extra installs.",
    example={"said": "No module named 'pyspark'"},
)
ENDED = ErrorCode(
    "C264",
    "{program} has ended with exit code {exit_code}; the end of {log}:\n{tail:lines}",
    "follow what the last line says, and start `up` again: it goes on where it stopped",
    cause="One of the two programs of the lake cannot go on. The other one was ended, too.",
    example={
        "program": "the connector",
        "exit_code": 3,
        "log": "lake/_cdc/connector.log",
        "tail": "…",
    },
)
NOT_IN_TIME = ErrorCode(
    "C265",
    "{folder}: the tables do not have everything after {seconds} s; {state}",
    "wait longer; binlog-connector status {config} shows what is slow",
    end=End.COMMAND,
    cause="The time of `wait` is over. Both programs go on.",
    example={
        "folder": "lake",
        "config": "lake/_cdc/connector.toml",
        "state": "copying: 2 tables, 40 %",
    },
)
NO_TABLE = configuration_error(
    "C266",
    "{folder} has no table {table}; it has {names}",
    "name a table as DATABASE.TABLE; one that is new at the source is there after `wait`",
    cause="Only a table of the source that is followed, has a key and is copied is in the folder.",
    example={"folder": "lake", "table": "shop.order", "names": ["shop.customers", "shop.orders"]},
)
LEFT_OUT = ErrorCode(
    "C267",
    "{folder}: table {table} is not kept equal to the source: {why}",
    "binlog-connector-mirror status {config} says what to do",
    cause="The Spark job has set the table aside, and the other ones go on.",
    example={
        "folder": "lake",
        "table": "shop.events",
        "config": "lake/_cdc/stream_job.toml",
        "why": "no primary key",
    },
)
MOVED = configuration_error(
    "C268",
    "{folder}: this lake was made as {made_as}",
    "move it back; or write its new path instead in all files of {state}",
    cause="The files of a lake name its log and its tables by their paths. If two folders named "
    "the same log, two lakes would write to it.",
    example={"folder": "/data/lake", "made_as": "/home/cdc/lake", "state": "/data/lake/_cdc"},
)
NO_MATCH = configuration_error(
    "C269",
    "source {source}: no table matches {patterns}",
    "correct the database in the URL or --tables, or create a table first",
    cause="A new lake needs a table: otherwise, a typing error would make an empty folder. Tables "
    "that are created later are followed, too.",
    example={"patterns": ["shop.orders"]},
)
KEYLESS = notice(
    "C270",
    "these tables have no primary key, so the folder does not get them: {tables}",
    'for their rows, append [[tables]] with match = ["DATABASE.TABLE"] and mode = "rows" to '
    "{job}, grant LOCK TABLES, ask for a copy (binlog-connector snapshot {connector} "
    "DATABASE.TABLE), and start again; or add a primary key",
    cause="Without a key, nothing says which row was changed. The mode rows keeps all rows of such "
    "a table, equal ones as often as the source has them.",
    example={
        "tables": ["shop.events"],
        "job": "lake/_cdc/stream_job.toml",
        "connector": "lake/_cdc/connector.toml",
    },
)
DISAGREE = configuration_error(
    "C271",
    "{key} is {here} in {connector}, and {there} in {job}",
    "write the same into both files",
    cause="The Spark job of a lake reads what its connector has written.",
    example={
        "key": "kafka.topic_prefix",
        "here": "lake",
        "connector": "lake/_cdc/connector.toml",
        "there": "other",
        "job": "lake/_cdc/stream_job.toml",
    },
)
ADDRESS = configuration_error(
    "C272",
    "another program listens at {address}, where a program of {folder} shows its state",
    "if it is one of this lake that was started by itself, end it; else give the lake another "
    "address as metrics.listen or metrics.mirror in the files of {state}",
    cause="Both programs of a lake have an address for metrics and the status page. Only one "
    "process can have it.",
    example={"address": "127.0.0.1:21083", "folder": "lake", "state": "lake/_cdc"},
)
START_OVER = ErrorCode(
    "C273",
    "{program} has ended with exit code {exit_code}, and cannot go on with the source as it is "
    "now; the end of {log}:\n{tail:lines}",
    "the tables stay as they are; for tables of the source as it is now, choose another folder: "
    "binlog-connector up {url} --to OTHER; if the files of {folder} should name another server, "
    "correct them",
    cause="The source was reset, was restored, or is another server, or it has purged what was not "
    "read. Instead of a pipeline with a new name, start a new lake.",
    example={
        "program": "the connector",
        "exit_code": 3,
        "log": "lake/_cdc/connector.log",
        "tail": "…",
        "url": "mysql://cdc@db:3306",
        "folder": "lake/_cdc",
    },
)
LOG_GONE = ErrorCode(
    "C274",
    "{folder}: the log of this lake is not in {log} any more",
    "put it back; if it is lost, choose another folder, which gets a copy of all tables: "
    "binlog-connector up {url} --to OTHER",
    cause="The log has the position in the source, and changes that the tables may lack. Somebody "
    "has moved or deleted it, perhaps with the whole lake.",
    example={"folder": "lake", "log": "lake/_cdc/log", "url": "mysql://cdc@db:3306"},
)
DISK_FULL = notice(
    "C275",
    "{folder}: the disk is full, so changes wait at the source",
    "make room; both programs go on by themselves, or with the next start of `up`",
    cause="Log and tables are on the disk of the lake. Nothing is lost while the source keeps its "
    "binary log.",
    example={"folder": "lake"},
)
HELD_BACK = ErrorCode(
    "C276",
    "{folder}: changes of {tables} are in quarantine, so the tables do not have them",
    "binlog-connector quarantine list {config} says why, and what to do",
    cause="The connector cannot publish a change, such as one of a session that does not log whole "
    "rows. It holds back what must not overtake this change; all other changes are in the tables.",
    example={
        "folder": "lake",
        "tables": ["shop.orders"],
        "config": "lake/_cdc/connector.toml",
    },
)
COPY_FAILED = ErrorCode(
    "C277",
    "{folder}: table {table} is not kept equal to the source: {why}",
    "binlog-connector status {config} says why; then copy it again: binlog-connector snapshot "
    "{config} DATABASE.TABLE",
    cause="The connector could not copy the rows that the table had, so its mirror lacks some.",
    example={
        "folder": "lake",
        "table": "shop.orders",
        "config": "lake/_cdc/connector.toml",
        "why": "its copy has failed",
    },
)
NO_PASSWORD = configuration_error(
    "C279",
    "{folder}: this lake keeps no password",
    "set {variable} as at the first start, or give a password to keep: binlog-connector up {url} "
    "--to {folder}",
    cause="At its first start, the environment has given the password. Such a password is not "
    "written into the lake, so it is needed at each start.",
    example={
        "folder": "lake",
        "variable": "BINLOG_CONNECTOR_SOURCE__PASSWORD",
        "url": "mysql://cdc@db:3306",
    },
)
NETWORK = configuration_error(
    "C280",
    "{folder}: the log of a lake cannot be on a network file system ({kind})",
    "choose a folder on a local disk as --to",
    cause="Other machines can mount such a file system, and two machines could then write one log.",
    example={"folder": "/mnt/share/lake", "kind": "nfs4"},
)
UNWRITABLE = ErrorCode(
    "C281",
    "{folder}: {program} has ended with exit code {exit_code}, because its disk takes no files: "
    "{why}",
    "make room on the disk, or repair it and mount it for writing; then start `up` again: it goes "
    "on where it stopped",
    cause="Log and tables are on the disk of the lake. When it was full or read-only, one of the "
    "two programs could not go on, and the other one was ended, too. Nothing is lost while the "
    "source keeps its binary log.",
    example={
        "folder": "lake",
        "program": "the Spark job",
        "exit_code": 1,
        "why": "Read-only file system",
    },
)
