"""Where the stream stands, and whether the source still is what was read."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_NEW_NAME = "give the pipeline a new name and set {source.start}"

_COPY_ANEW = f'{_NEW_NAME} = "snapshot"'

OTHER_FLAVOUR = ErrorCode(
    "S901",
    "{server}: the stream was read from {before}, this is {now}",
    _COPY_ANEW,
    cause="MySQL and MariaDB name transactions in different ways.",
    example={"server": "source db1:3306", "before": "mysql", "now": "mariadb"},
)

_UUIDS = {
    "before": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
    "now": "5f0c2d1a-71ca-11e1-9e33-c80aa9429562",
}

POSITION_ELSEWHERE = ErrorCode(
    "S902",
    "{server}: the stream stands at {file}:{position} of server {before}, but this is server "
    "{now}, and positions mean nothing on another server",
    f"go back to the first, or {_COPY_ANEW}; a stream can change the server only if gtid_mode "
    "was ON from its start",
    cause="Each server writes a log of its own. Only GTIDs mean the same on all of them.",
    example={"server": "source db1:3306", "file": "binlog.000042", "position": 1187, **_UUIDS},
)

GTID_MODE_OFF = ErrorCode(
    "S903",
    "{server}: the stream has been read by GTID, but the server's gtid_mode is not ON",
    f'SET GLOBAL gtid_mode back to ON, or {_NEW_NAME} = "{{start}}"',
    cause=(
        "The stream continues from a GTID set, and a server finds one only while gtid_mode is ON: "
        "also with ON_PERMISSIVE and OFF_PERMISSIVE it refuses. If it has logged transactions "
        "without GTIDs since, S905 says so."
    ),
    example={"server": "source db1:3306", "start": "position:binlog.000042:1187"},
)

BEGUN_ELSEWHERE = ErrorCode(
    "S904",
    "{server}: the next transaction was delivered in part by the program before this one, from "
    "server {before}, but this is server {now}",
    f"go back to the first, or {_COPY_ANEW}",
    cause=(
        "The start point of `import-debezium` counts the events and rows that must not be "
        "repeated. Another server may divide the rows of a transaction into other events."
    ),
    example={"server": "source db1:3306", **_UUIDS},
)

_LOOKED_AT = "the logs may have been reset; the connector checks this now"

_RESET = (
    "This is a sign of RESET MASTER, RESET BINARY LOGS or a server that was restored. The "
    "stream is opened again, and the start checks the logs more closely."
)

FILE_AFTER = ErrorCode(
    "S911",
    "source {address}: {file} does not come after transactions that were read: {gtids}: "
    f"{_LOOKED_AT}",
    end=End.RETRIED,
    cause=_RESET,
    example={
        "address": "db1:3306",
        "file": "binlog.000001",
        "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
    },
)

LOG_WENT_BACK = ErrorCode(
    "S912",
    f"{{server}}: the log ends at {{end}}, and went up to {{before}}: {_LOOKED_AT}",
    end=End.RETRIED,
    cause=_RESET,
    example={"server": "source db1:3306", "end": "binlog.000001:157", "before": "binlog.000042:4"},
)

FILE_SHRANK = ErrorCode(
    "S913",
    "{server}: {file} ends at {size}, and was read up to {position}: " + _LOOKED_AT,
    end=End.RETRIED,
    cause=_RESET,
    example={
        "server": "source db1:3306",
        "file": "binlog.000001",
        "size": 157,
        "position": 1187,
    },
)

_NUMBERED = "Consumers order changes by numbers of a fixed length, and these have no room for more."

SEQUENCE_END = ErrorCode(
    "T233",
    "{log_position} in epoch {epoch} is beyond what a sequence can count",
    "run RESET BINARY LOGS AND GTIDS on the source in a maintenance window and start the pipeline "
    "under a new name",
    cause=f"{_NUMBERED} The number of the log file, the position or the epoch is too large.",
    example={"log_position": "binlog.9999999999:4", "epoch": 1},
)


_CAUSE = (
    "A newer version wrote the record, or another program did. The connector never ignores "
    "what it does not understand."
)

_UNLIKE = "give the pipeline a new name, or remove the record"

_WHY = {"why": "unexpected keyword argument 'new'"}

PROGRESS = ErrorCode(
    "K501",
    "{record} is not a progress record of this version ({why})",
    _UNLIKE,
    cause=_CAUSE,
    example={"record": "shop.progress[0]@7", **_WHY},
)

COPY = ErrorCode(
    "K502",
    "{record} is not the state of a copy of this version ({why})",
    _UNLIKE,
    cause=_CAUSE,
    example={"record": "shop.snapshot[0]@7", **_WHY},
)
