"""S700: connections to a server that was reached: the stream, and sessions for SELECT."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_SERVER = "source db1:3306"
_GONE = "The server was stopped or died, or something between here and there ended the connection."

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
