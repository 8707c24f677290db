"""What keeps `up` from keeping a lake."""

from connector.foundation.errors.code import End, ErrorCode, configuration_error

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
    "{folder}: this is no lake yet, and no source is given",
    "name it first: binlog-connector up mysql://USER@HOST/DATABASE --to {folder}",
    cause="Only a lake that was started before is known by its folder alone.",
    example={"folder": "lake"},
)
FOLDER = configuration_error(
    "C261",
    "{folder}: {why}",
    "give a folder that this user may write",
    cause="The operating system refuses to make or to write the folder of the lake.",
    example={"folder": "/lake", "why": "Permission denied"},
)
IN_USE = configuration_error(
    "C262",
    "{folder}: another process keeps this lake",
    "end it first, or look at it: binlog-connector status {config}",
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
