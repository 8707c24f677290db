"""S500: what a server answers to the request for its log.

Number 1236 is all that MySQL has for it, so the server's text picks the code.
"""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_WHAT = "{server}: error {number}: {said}"
_OVER = "give the pipeline a new name and start over"
_URL_OVER = "start at a position that the server still has"


def _refused(
    code: str, said: str, fix: str, cause: str, *, number: int = 1236, url_fix: str | None = None
) -> ErrorCode:
    return ErrorCode(
        code,
        _WHAT,
        fix,
        cause=cause,
        example={"server": "source db1:3306", "number": number, "said": said},
        url_fix=url_fix,
    )


SAME_SERVER_ID = _refused(
    "S501",
    "A replica with the same server_uuid/server_id as this replica has connected to the source",
    "give each replica and each pipeline a {source.server_id} of its own",
    "Another reader has the same server_id, and of two such readers a server throws the older one "
    "out. MySQL answers with number 1236, MariaDB with 4052.",
    url_fix="give each reader a {source.server_id} of its own",
)
PURGED = _refused(
    "S502",
    "Could not find first log file name in binary log index file",
    f"what was not read is gone from this server: {_OVER}, or point it at a replica that still has "
    "the log",
    "The server has deleted the log that comes next. It deletes logs after the time that "
    "binlog_expire_logs_seconds or expire_logs_days gives.",
    url_fix="what was not read is gone from this server: read a replica that still has the log",
)
RESET = _refused(
    "S503",
    "Replica has more GTIDs than the source has, using the source's SERVER_UUID",
    f"the server's logs were reset, or their end was lost: {_OVER}, or point it at a server that "
    "has the transactions",
    "The stream has read transactions of this server that the server does not know: its logs were "
    "reset, or a crash took their end.",
    url_fix=(
        "the server's logs were reset, or their end was lost: read a server that has the "
        "transactions"
    ),
)
GTID_MODE = _refused(
    "S504",
    "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = "
    "OFF instead of ON",
    f"SET GLOBAL gtid_mode back to ON, or {_OVER}",
    "The stream is read by GTID, and the server no longer finds positions by GTID.",
    url_fix=f"SET GLOBAL gtid_mode back to ON, or {_URL_OVER}",
)
POSITION = _refused(
    "S505",
    "Client requested source to start replication from position > file size",
    "choose a position inside the file",
    "The file ends before the position, or the position is below 4, where events begin.",
)
PACKET = _refused(
    "S506",
    "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
    "SET GLOBAL max_allowed_packet = 1073741824 on the server; if that is its value already, no "
    "event starts at the position",
    "An event is larger than the server may send. Bytes inside of an event are taken for a length, "
    "too, if no event starts at the position.",
)
DAMAGED = _refused(
    "S507",
    "bogus data in log event",
    "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog",
    "The server read bytes that are no event, or an event with a wrong checksum.",
)
NO_SERVER_ID = _refused(
    "S508",
    "Misconfigured source - server_id was not set",
    "set server_id on the server",
    "A server without a server_id sends its log to nobody.",
)
LOG_OFF = _refused(
    "S509",
    "Binary log is not open",
    "start the server with log_bin",
    "The server writes no binary log, so nothing can be followed.",
)
NOT_THERE = _refused(
    "S510",
    "Error: connecting slave requested to start from GTID 0-1-9, which is not in the master's "
    "binlog",
    "this server does not have what was read last: point the pipeline at the server that has it, "
    "or give it a new name and start over",
    "The stream goes on after a transaction that is not in the log of this server.",
    url_fix="this server does not have what was read last: read the server that has it",
)
NO_GTID_NEXT = ErrorCode(
    "S511",
    _WHAT,
    "everything before it was sent: SET GLOBAL gtid_mode = ON_PERMISSIVE, give the pipeline a new "
    'name and set {source.start} = "position:{file}:{position}", so that nothing is lost; set the '
    "mode ON again once what has no GTID was read",
    cause=(
        "The stream is read by GTID, and the server's gtid_mode was not ON when it logged this "
        "transaction. A stream by position gets it, but cannot change its server."
    ),
    example={
        "server": "source db1:3306",
        "number": 1236,
        "said": "Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file "
        "./binlog.000042, position 1187",
        "file": "binlog.000042",
        "position": 1187,
    },
    url_fix="SET GLOBAL gtid_mode = ON_PERMISSIVE, and start at position:{file}:{position}",
)
GTID_MODE_ON = _refused(
    "S512",
    "Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file "
    "./binlog.000042, position 1187",
    "SET GLOBAL gtid_mode = ON_PERMISSIVE until the transactions without GTIDs were read",
    "The stream is read by position, and comes to a transaction without a GTID. A server whose "
    "gtid_mode is ON does not send it.",
)
