"""S700: connections to a server that was reached: the stream, and sessions for SELECT."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

_PLACE = "source db1:3306"
_GONE = "The server was stopped or died, or something between here and there ended the connection."

CLOSED = ErrorCode(
    "S701",
    "{place}: the connection was closed",
    end=End.RETRIED,
    cause=f"The session had ended before a statement could be sent. {_GONE}",
    example={"place": _PLACE},
)
SERVER_CLOSED = ErrorCode(
    "S702",
    "{place}: the server closed the connection",
    end=End.RETRIED,
    cause=_GONE,
    example={"place": _PLACE},
)
BROKE = ErrorCode(
    "S703",
    "{place}: the connection broke: {why}",
    end=End.RETRIED,
    cause=_GONE,
    example={"place": _PLACE, "why": "Connection reset by peer"},
)
SESSION_CLOSED_HERE = ErrorCode(
    "S704",
    "{place}: the session was closed here",
    end=End.RETRIED,
    cause="Another thread of this program ended the session while a statement ran.",
    example={"place": _PLACE},
)
STREAM_CLOSED_HERE = ErrorCode(
    "S705",
    "{place}: the stream was closed here",
    end=End.RETRIED,
    cause="Another thread of this program ended the stream while it was read.",
    example={"place": _PLACE},
)
SILENT = ErrorCode(
    "S706",
    "{place}: silent for {seconds:.1f} seconds, although heartbeats were to come {times} times in "
    "{source.read_timeout_seconds} ({limit:g}): the server or the network is gone",
    end=End.RETRIED,
    cause=(
        "A server that has nothing to send sends heartbeats. None came, so the server hangs, or "
        "the network lost the connection without a word."
    ),
    example={"place": _PLACE, "seconds": 30.2, "times": 3, "limit": 30.0},
)
NO_ANSWER = ErrorCode(
    "S707",
    "{place}: no answer to a query in {seconds:g} seconds: the server or the network is gone, or "
    "the query is slow",
    "look at SHOW PROCESSLIST, and at {source.read_timeout_seconds}",
    end=End.RETRIED,
    cause="The server took longer for a statement than the read timeout allows.",
    example={"place": _PLACE, "seconds": 60.0},
)
DUMP_ENDED = ErrorCode(
    "S708",
    "{place}: the server ended the dump",
    end=End.RETRIED,
    cause="The server was told to end the stream: by KILL, or because it is being stopped.",
    example={"place": _PLACE},
)
DUMP_HANGS = ErrorCode(
    "S709",
    "{place}: a dump of {file} was not answered within {seconds:g} seconds",
    "look whether the server hangs",
    end=End.RETRIED,
    cause="To find a place in the log, a file of it was asked for, and nothing came.",
    example={"place": _PLACE, "file": "binlog.000042", "seconds": 30.0},
)
BROKEN_RULES = ErrorCode(
    "S711",
    "{place}: {why}",
    frame=True,
    cause="The server sent what it must not send.",
    example={"place": _PLACE, "why": "an event starts with 00 01"},
)
NO_SEMI_SYNC = ErrorCode(
    "S712",
    "{place}: semi-synchronous replication is off",
    "SET GLOBAL rpl_semi_sync_master_enabled = ON on MariaDB; on MySQL INSTALL PLUGIN "
    "rpl_semi_sync_source SONAME 'semisync_source.so' and SET GLOBAL rpl_semi_sync_source_enabled "
    "= ON",
    cause="The stream was asked to acknowledge transactions, and the server waits for nobody.",
    example={"place": _PLACE},
)
