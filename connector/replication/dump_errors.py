"""The request for a log: its start, the conversation, and the connection."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_GONE = "The server was stopped or died, or something between here and there ended the connection."

_SERVER = "source db1:3306"

CLOSED = ErrorCode(
    "S701",
    "{server}: the connection was closed",
    end=End.RETRIED,
    cause=f"The session had ended before a statement could be sent. {_GONE}",
    example={"server": _SERVER},
)

SERVER_CLOSED = ErrorCode(
    "S702",
    "{server}: the server closed the connection",
    end=End.RETRIED,
    cause=_GONE,
    example={"server": _SERVER},
)

BROKE = ErrorCode(
    "S703",
    "{server}: the connection broke: {why}",
    end=End.RETRIED,
    cause=_GONE,
    example={"server": _SERVER, "why": "Connection reset by peer"},
)

SESSION_CLOSED_HERE = ErrorCode(
    "S704",
    "{server}: the session was closed here",
    end=End.RETRIED,
    cause="Another thread of this program ended the session while a statement ran.",
    example={"server": _SERVER},
)

STREAM_CLOSED_HERE = ErrorCode(
    "S705",
    "{server}: the stream was closed here",
    end=End.RETRIED,
    cause="Another thread of this program ended the stream while it was read.",
    example={"server": _SERVER},
)

SILENT = ErrorCode(
    "S706",
    "{server}: silent for {seconds:.1f} seconds, although it should send {times} heartbeats "
    "in {source.read_timeout_seconds} ({limit:g}): the server or the network is gone",
    end=End.RETRIED,
    cause=(
        "A server that has nothing to send sends heartbeats. None came, so the server hangs, or "
        "the network lost the connection without an error."
    ),
    example={"server": _SERVER, "seconds": 30.2, "times": 3, "limit": 30.0},
)

NO_ANSWER = ErrorCode(
    "S707",
    "{server}: no answer to a query in {seconds:g} seconds: the server or the network is gone, or "
    "the query is slow",
    "look at SHOW PROCESSLIST, and at {source.read_timeout_seconds}",
    end=End.RETRIED,
    cause="The server took longer for a statement than the read timeout allows.",
    example={"server": _SERVER, "seconds": 60.0},
)

DUMP_ENDED = ErrorCode(
    "S708",
    "{server}: the server ended the dump",
    end=End.RETRIED,
    cause="The server was told to end the stream: by KILL, or because it is being stopped.",
    example={"server": _SERVER},
)

DUMP_HANGS = ErrorCode(
    "S709",
    "{server}: a dump of {file} was not answered within {seconds:g} seconds",
    "check whether the server hangs",
    end=End.RETRIED,
    cause="The connector asked for a file of the log, to find a position in it, and nothing came.",
    example={"server": _SERVER, "file": "binlog.000042", "seconds": 30.0},
)

BROKEN_RULES = ErrorCode(
    "S711",
    "{server}: {why}",
    frame=True,
    cause="The server sent what it must not send.",
    example={"server": _SERVER, "why": "an event starts with 00 01"},
)

NO_SEMI_SYNC = ErrorCode(
    "S712",
    "{server}: semi-synchronous replication is off",
    "SET GLOBAL rpl_semi_sync_master_enabled = ON on MariaDB; on MySQL INSTALL PLUGIN "
    "rpl_semi_sync_source SONAME 'semisync_source.so' and SET GLOBAL rpl_semi_sync_source_enabled "
    "= ON",
    cause=(
        "The stream was asked to acknowledge transactions, and the server does not wait for "
        "acknowledgements."
    ),
    example={"server": _SERVER},
)

_LOOK = (
    "bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set {source.tls.mode} to required"
)

_RULES = "The packets of a server follow rules, and this one breaks them."

_URL_LOOK = _LOOK.replace("to required", "to REQUIRED")


def _garbled(code: str, what: str, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"{{server}}: {what}",
        _LOOK,
        url_fix=_URL_LOOK,
        cause=_RULES,
        example={"server": "db1:3306", **example},
    )


STREAM_UNREADABLE = _garbled(
    "L501",
    "the replication stream has a packet that cannot be read ({why})",
    why="need 2 bytes at offset 0, but the payload ends at 1",
)

STREAM_EMPTY_PACKET = _garbled(
    "L502", "the replication stream has an empty packet at the start of an event"
)

STREAM_EVENT_SIZE = _garbled(
    "L503", "the replication stream has an event of more than {limit} bytes", limit=1 << 30
)

STREAM_NUMBER = _garbled(
    "L504",
    "the replication stream has packet number {number}, but {needed} must follow",
    number=7,
    needed=5,
)

STREAM_FIRST_BYTE = _garbled(
    "L505",
    "the replication stream has a payload of {length} bytes that starts with {first:#04x}; only "
    "0x00 (an event), 0xff (an error) and 0xfe (its end) may",
    length=40,
    first=0x21,
)

ANSWER_UNREADABLE = _garbled(
    "L511",
    "the answer to a query has a packet that cannot be read ({why})",
    why="need 2 bytes at offset 0, but the payload ends at 1",
)

ANSWER_EMPTY_PACKET = _garbled("L512", "the answer to a query has an empty packet")

ANSWER_ROW_SIZE = _garbled(
    "L513",
    "the answer to a query has a row of more than {limit} bytes",
    limit=(1 << 30) + (1 << 16),
)

ANSWER_NUMBER = _garbled(
    "L514",
    "the answer to a query has packet number {number}, but {needed} must follow",
    number=7,
    needed=5,
)

ANSWER_PACKET = _garbled("L515", "the answer to a query has a packet that does not belong there")

ANSWER_FILE = _garbled("L516", "the answer to a query has a request for a file")

ANSWER_END = _garbled("L517", "the answer to a query has an end that does not belong there")

SEMI_SYNC_HEADER = ErrorCode(
    "L521",
    "an event of semi-synchronous replication starts with ef and a flag, not with {found!r}",
    cause=(
        "A server was asked to wait for this reader, and marks each event. This event has no mark."
    ),
    example={"found": "00 01"},
)

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

_OVER = "give the pipeline a new name and start over"

_URL_OVER = "start at a position that the server still has"

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
