"""The request for a log: its start, the conversation, and the connection."""

from connector.foundation.errors.code import ErrorCode, configuration_error, frame, transient_error

CONNECTION_LOST = transient_error(
    "S713",
    "{server}: {reason}",
    cause="The server or something between here and the server ended the connection, or another "
    "thread of this program did.",
)
CLOSED = CONNECTION_LOST.because("the connection was closed", was="S701")
SERVER_CLOSED = CONNECTION_LOST.because("the server closed the connection", was="S702")
BROKE = CONNECTION_LOST.because("the connection broke: {why}", was="S703")
SESSION_CLOSED_HERE = CONNECTION_LOST.because("the session was closed here", was="S704")
STREAM_CLOSED_HERE = CONNECTION_LOST.because("the stream was closed here", was="S705")
DUMP_ENDED = CONNECTION_LOST.because("the server ended the dump", was="S708")

SILENT = transient_error(
    "S706",
    "{server}: silent for {seconds:.1f} seconds, although it should send at least {times} "
    "heartbeats in {source.read_timeout_seconds} ({limit:g}): the server or the network is gone",
    cause="A server that has nothing to send sends heartbeats. None came, so the server hangs, or "
    "the network lost the connection without an error.",
    example={"times": 3, "limit": 30.0},
)
NO_ANSWER = transient_error(
    "S707",
    "{server}: no answer to a query in {seconds:g} seconds: the server or the network is gone, or "
    "the query is slow",
    "look at SHOW PROCESSLIST, and at {source.read_timeout_seconds}",
    cause="The server took longer for a statement than the read timeout allows.",
)
DUMP_HANGS = transient_error(
    "S709",
    "{server}: a dump of {file} was not answered within {seconds:g} seconds",
    "check whether the server hangs",
    cause="The connector asked for a file of the log, to find a position in it, and nothing came.",
)
BROKEN_RULES = frame("{server}: {why}", was="S711")
NO_SEMI_SYNC = ErrorCode(
    "S712",
    "{server}: semi-synchronous replication is off",
    "SET GLOBAL rpl_semi_sync_master_enabled = ON on MariaDB; on MySQL INSTALL PLUGIN "
    "rpl_semi_sync_source SONAME 'semisync_source.so' and SET GLOBAL rpl_semi_sync_source_enabled "
    "= ON",
    cause="The stream was asked to acknowledge transactions, and the server does not wait for "
    "acknowledgements.",
)

CONVERSATION_GARBLED = ErrorCode(
    "L522",
    "{server}: {reason}",
    "bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set {source.tls.mode} to required",
    url_fix="bytes were lost, or something between here and the server changed them: look at "
    "proxies, or set {source.tls.mode} to REQUIRED",
    cause="The packets of a server follow rules, and this one breaks them.",
)
STREAM_UNREADABLE = CONVERSATION_GARBLED.because(
    "the replication stream has a packet that cannot be read ({why})", was="L501"
)
STREAM_EMPTY_PACKET = CONVERSATION_GARBLED.because(
    "the replication stream has an empty packet at the start of an event", was="L502"
)
STREAM_EVENT_SIZE = CONVERSATION_GARBLED.because(
    "the replication stream has an event of more than {limit} bytes", was="L503"
)
STREAM_NUMBER = CONVERSATION_GARBLED.because(
    "the replication stream has packet number {number}, but {needed} must follow", was="L504"
)
STREAM_FIRST_BYTE = CONVERSATION_GARBLED.because(
    "the replication stream has a payload of {length} bytes that starts with {first:#04x}; only "
    "0x00 (an event), 0xff (an error) and 0xfe (its end) may",
    was="L505",
)
ANSWER_UNREADABLE = CONVERSATION_GARBLED.because(
    "the answer to a query has a packet that cannot be read ({why})", was="L511"
)
ANSWER_EMPTY_PACKET = CONVERSATION_GARBLED.because(
    "the answer to a query has an empty packet", was="L512"
)
ANSWER_ROW_SIZE = CONVERSATION_GARBLED.because(
    "the answer to a query has a row of more than {limit} bytes", was="L513"
)
ANSWER_NUMBER = CONVERSATION_GARBLED.because(
    "the answer to a query has packet number {number}, but {needed} must follow", was="L514"
)
ANSWER_PACKET = CONVERSATION_GARBLED.because(
    "the answer to a query has a packet that does not belong there", was="L515"
)
ANSWER_FILE = CONVERSATION_GARBLED.because(
    "the answer to a query has a request for a file", was="L516"
)
ANSWER_END = CONVERSATION_GARBLED.because(
    "the answer to a query has an end that does not belong there", was="L517"
)

SEMI_SYNC_HEADER = ErrorCode(
    "L521",
    "an event of semi-synchronous replication starts with ef and a flag, not with {found!r}",
    cause="A server was asked to wait for this reader, and marks each event. This event has no "
    "mark.",
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
    example={"time": "2027-01-01T00:00:00Z", "now": "2026-11-21T10:00:00Z"},
)
BEFORE_LOGS = ErrorCode(
    "S304",
    "{server}: {source.start} timestamp:{time} lies before the oldest log, {file}, which begins at "
    "{begins}",
    "choose a time from then on, or set {source.start} to earliest",
    cause="The server has deleted its older logs, so what was committed since cannot be read.",
    example={"time": "2026-01-01T00:00:00Z", "begins": "2026-11-14T02:10:00Z"},
)
GTIDS = frame("{source.start}: {why}", was="S305")
NO_GTIDS = ErrorCode(
    "S306",
    "{server}: {source.start} names GTIDs, but the server has gtid_mode {mode}",
    "set gtid_mode = ON, or start by position",
    cause="MySQL finds a position by GTID only if gtid_mode is ON.",
    example={"mode": "OFF"},
)
LOG_OFF = ErrorCode(
    "S307",
    "{server}: the binary log is off",
    "start the server with log_bin",
    cause="The server writes no binary log, so there is no position to start at.",
)
INSIDE_TRANSACTION = ErrorCode(
    "S308",
    "{server}: {file}:{position} is a {event} event inside a transaction",
    "start where a transaction starts, at a Gtid or Anonymous_Gtid event of SHOW BINLOG EVENTS IN "
    "'{file}'",
    cause="Transactions are delivered as a whole, so the stream begins between two of them.",
    example={"event": "Write_rows"},
)
NO_EVENT = ErrorCode(
    "S309",
    "{server}: {file}:{position} is not the start of an event",
    "choose a position that SHOW BINLOG EVENTS IN '{file}' prints",
    cause="The position lies inside an event, and a server sends only whole events.",
)
_OVER = "give the pipeline a new name and start over"
_URL_OVER = "start at a position that the server still has"
NO_FILE = ErrorCode(
    "S310",
    "{server}: the server does not have {file}; its logs go from {first} to {last}",
    f"if it was purged, changes are lost: {_OVER}; keep logs longer with "
    "binlog_expire_logs_seconds",
    cause="The server has deleted the file, its logs were reset, or the file belongs to another "
    "server.",
    example={"first": "binlog.000040", "last": "binlog.000042"},
    url_fix=f"if it was purged, changes are lost: {_URL_OVER}; keep logs longer with "
    "binlog_expire_logs_seconds",
)
AFTER_END = ErrorCode(
    "S311",
    "{server}: {file} ends at {end}, before position {position}: the logs were reset, or this is "
    "another server",
    _OVER,
    cause="The file is shorter than what was read of it, or than the position that was given.",
    example={"end": 1251},
    url_fix=_URL_OVER,
)
ABOVE_4_GIB = ErrorCode(
    "S312",
    "{server}: {file}:{position} lies above 4 GiB, where a dump cannot start without GTIDs",
    "start at position 4 of the next file",
    cause="The command that asks for a log by position has 32 bits for the position.",
)

# The argument `start` of `open_server`.
START_FORM = configuration_error(
    "C213",
    "start {start!r} is not {reason}",
    cause="A start point is earliest, latest, gtid:SET or position:FILE:POSITION.",
)
START = START_FORM.because(
    "earliest, latest, gtid:SET or position:FILE:POSITION; write one of these", was="C211"
)
START_POSITION = START_FORM.because(
    "position:FILE:POSITION; write it like position:binlog.000042:4", was="C212"
)
