"""Where the stream stands, and whether the source still is what was read."""

from connector.foundation.errors.code import ErrorCode, transient_error

_NEW_NAME = "give the pipeline a new name and set {source.start}"
_COPY_ANEW = f'{_NEW_NAME} = "snapshot"'
OTHER_FLAVOUR = ErrorCode(
    "S901",
    "{server}: the stream was read from {before}, this is {now}",
    _COPY_ANEW,
    cause="MySQL and MariaDB name transactions in different ways.",
    example={"before": "mysql", "now": "mariadb"},
)
POSITION_ELSEWHERE = ErrorCode(
    "S902",
    "{server}: the stream stands at {file}:{position} of server {before}, but this is server "
    "{now}, and positions mean nothing on another server",
    f"go back to the first, or {_COPY_ANEW}; a stream can change the server only if gtid_mode "
    "was ON from its start",
    cause="Each server writes a log of its own. Only GTIDs mean the same on all of them.",
    example={
        "before": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "now": "5f0c2d1a-71ca-11e1-9e33-c80aa9429562",
    },
)
GTID_MODE_OFF = ErrorCode(
    "S903",
    "{server}: the stream has been read by GTID, but the server's gtid_mode is not ON",
    f'SET GLOBAL gtid_mode back to ON, or {_NEW_NAME} = "{{start}}"',
    cause="The stream continues from a GTID set, and a server finds one only while gtid_mode is "
    "ON: also with ON_PERMISSIVE and OFF_PERMISSIVE it refuses. If it has logged transactions "
    "without GTIDs since, S905 says so.",
    example={"start": "position:binlog.000042:1187"},
)
BEGUN_ELSEWHERE = ErrorCode(
    "S904",
    "{server}: the next transaction was delivered in part by the program before this one, from "
    "server {before}, but this is server {now}",
    f"go back to the first, or {_COPY_ANEW}",
    cause="The start point of `import-debezium` counts the events and rows that must not be "
    "repeated. Another server may divide the rows of a transaction into other events.",
    example={
        "before": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "now": "5f0c2d1a-71ca-11e1-9e33-c80aa9429562",
    },
)

LOGS_PERHAPS_RESET = transient_error(
    "S914",
    "{reason}: the logs may have been reset; the connector checks this now",
    cause="This is a sign of RESET MASTER, RESET BINARY LOGS or a server that was restored. The "
    "stream is opened again, and the start checks the logs more closely.",
)
FILE_AFTER = LOGS_PERHAPS_RESET.because(
    "source {address}: {file} does not come after transactions that were read: {gtids}", was="S911"
)
LOG_WENT_BACK = LOGS_PERHAPS_RESET.because(
    "{server}: the log ends at {end}, and went up to {before}", was="S912"
)
FILE_SHRANK = LOGS_PERHAPS_RESET.because(
    "{server}: {file} ends at {size}, and was read up to {position}", was="S913"
)

_NUMBERED = "Consumers order changes by numbers of a fixed length, and these have no room for more."
SEQUENCE_END = ErrorCode(
    "T233",
    "{log_position} in epoch {epoch} is beyond what a sequence can count",
    "run RESET BINARY LOGS AND GTIDS on the source in a maintenance window and start the pipeline "
    "under a new name",
    cause=f"{_NUMBERED} The number of the log file, the position or the epoch is too large.",
    example={"epoch": 1},
)

OTHER_VERSION = ErrorCode(
    "K514",
    "{record} is not {reason} of this version ({why})",
    "run the version that wrote the record, or give the pipeline a new name",
    cause="A newer version wrote the record, or another program did. The connector never ignores "
    "what it does not understand.",
)
PROGRESS = OTHER_VERSION.because("a progress record", was="K501")
COPY = OTHER_VERSION.because("the state of a copy", was="K502")
EPOCH = OTHER_VERSION.because("the epoch of a pipeline")
