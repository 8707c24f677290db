"""What keeps `up` from keeping a lake."""

from connector.foundation.errors.code import ErrorCode, configuration_error

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
