"""S300: the start point that `source.start` names."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_SERVER = "source db1:3306"
_OVER = "give the pipeline a new name and start over"
_URL_OVER = "start at a position that the server still has"

FORM = ErrorCode(
    "S301",
    "{source.start} {start!r} is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or "
    "timestamp:TIME",
    "write one of these",
    cause="The first word says what kind of start point it is.",
    example={"start": "yesterday"},
)
NO_TIME_ZONE = ErrorCode(
    "S302",
    "{source.start} timestamp:{time} is not a time with its zone",
    "write it like timestamp:2026-11-21T10:00:00Z",
    cause="A time without a zone is not a moment: each zone has it at another one.",
    example={"time": "2026-11-21T10:00:00"},
)
FUTURE = ErrorCode(
    "S303",
    "{server}: {source.start} timestamp:{time} is in the future: the server's clock says {now}",
    "choose a time in the past, or set {source.start} to latest",
    cause="Only the server's clock counts, and it has not reached this time yet.",
    example={"server": _SERVER, "time": "2027-01-01T00:00:00Z", "now": "2026-11-21T10:00:00Z"},
)
BEFORE_LOGS = ErrorCode(
    "S304",
    "{server}: {source.start} timestamp:{time} lies before the oldest log, {file}, which begins at "
    "{begins}",
    "choose a time from then on, or set {source.start} to earliest",
    cause="The server has deleted its older logs, so what was committed since cannot be read.",
    example={
        "server": _SERVER,
        "time": "2026-01-01T00:00:00Z",
        "file": "binlog.000042",
        "begins": "2026-11-14T02:10:00Z",
    },
)
GTIDS = ErrorCode(
    "S305",
    "{source.start}: {why}",
    frame=True,
    cause="The GTIDs of the start point cannot be read.",
    example={"why": "'0-1' is not a MariaDB GTID; it looks like 0-1-5"},
)
NO_GTIDS = ErrorCode(
    "S306",
    "{server}: {source.start} names GTIDs, but the server has gtid_mode {mode}",
    "set gtid_mode = ON, or start by position",
    cause="MySQL finds a position by GTID only if gtid_mode is ON.",
    example={"server": _SERVER, "mode": "OFF"},
)
LOG_OFF = ErrorCode(
    "S307",
    "{server}: the binary log is off",
    "start the server with log_bin",
    cause="The server writes no binary log, so there is no position to start at.",
    example={"server": _SERVER},
)
INSIDE_TRANSACTION = ErrorCode(
    "S308",
    "{server}: {file}:{position} is a {event} event inside a transaction",
    "start where a transaction starts, at a Gtid or Anonymous_Gtid event of SHOW BINLOG EVENTS IN "
    "'{file}'",
    cause="Transactions are delivered as a whole, so the stream begins between two of them.",
    example={
        "server": _SERVER,
        "file": "binlog.000042",
        "position": 1187,
        "event": "Write_rows",
    },
)
NO_EVENT = ErrorCode(
    "S309",
    "{server}: {file}:{position} is not the start of an event",
    "choose a position that SHOW BINLOG EVENTS IN '{file}' prints",
    cause="The position lies inside an event, and a server sends only whole events.",
    example={"server": _SERVER, "file": "binlog.000042", "position": 1188},
)
NO_FILE = ErrorCode(
    "S310",
    "{server}: the server does not have {file}; its logs go from {first} to {last}",
    f"if it was purged, changes are lost: {_OVER}; keep logs longer with "
    "binlog_expire_logs_seconds",
    cause=(
        "The server has deleted the file, its logs were reset, or the file belongs to another "
        "server."
    ),
    example={
        "server": _SERVER,
        "file": "binlog.000007",
        "first": "binlog.000040",
        "last": "binlog.000042",
    },
    url_fix=(
        f"if it was purged, changes are lost: {_URL_OVER}; keep logs longer with "
        "binlog_expire_logs_seconds"
    ),
)
AFTER_END = ErrorCode(
    "S311",
    "{server}: {file} ends at {end}, before position {position}: the logs were reset, or this is "
    "another server",
    _OVER,
    cause="The file is shorter than what was read of it, or than the position that was given.",
    example={"server": _SERVER, "file": "binlog.000042", "end": 1251, "position": 9000},
    url_fix=_URL_OVER,
)
ABOVE_4_GIB = ErrorCode(
    "S312",
    "{server}: {file}:{position} lies above 4 GiB, where a dump cannot start without GTIDs",
    "start at position 4 of the next file",
    cause="The command that asks for a log by position has 32 bits for the position.",
    example={"server": _SERVER, "file": "binlog.000042", "position": 4294967296},
)
OTHER_LOG = ErrorCode(
    "S313",
    "{server}: the log does not have {read} of a transaction as another client would read it",
    "let the other program go on for a moment and stop it again, on this server; an offset in an "
    "XA transaction cannot be taken over",
    cause=(
        "The position is in a log of another server or before a reset, or it lies in an XA "
        "transaction: Debezium publishes its rows before XA COMMIT."
    ),
    example={"server": _SERVER, "read": "binlog.000042:1187 and 3 events and 2 rows"},
)
