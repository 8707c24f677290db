"""L200: bodies of events that are not rows."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_CHANGED = "No server writes this: bytes were changed."

TYPE_UNKNOWN = ErrorCode(
    "L201",
    "this type is not known and not flagged as ignorable (first bytes {first})",
    "upgrade the connector",
    cause="A newer server wrote an event that a reader must understand to read on without loss.",
    example={"first": "01 00 00 00"},
)
FORMAT_VERSION = ErrorCode(
    "L202",
    "it says binlog format v{version}, but only v4 has this event",
    cause=_CHANGED,
    example={"version": 5},
)
HEADER_TOO_SHORT = ErrorCode(
    "L203",
    "a header of {length} bytes is shorter than {least}",
    cause=_CHANGED,
    example={"length": 13, "least": 19},
)
TYPES_RENUMBERED = ErrorCode(
    "L204",
    "server {version} numbers event types in a way that is not known, as pre-releases of 5.1 do",
    cause="Some servers were never released, and no document tells how they number event types.",
    example={"version": "5.1.9-beta"},
)
CHECKSUM_ALGORITHM = ErrorCode(
    "L205",
    "checksum algorithm {value} is not known",
    "set binlog_checksum=CRC32",
    cause="Servers know no checksum but CRC32. A newer server wrote this, or bytes were changed.",
    example={"value": 2},
)
NO_FORMAT = ErrorCode(
    "L206",
    "no FORMAT_DESCRIPTION_EVENT came before it",
    "read the log from its start, where that event is",
    cause="The first event of a log says how the events after it are written.",
)
FILE_NAME_EMPTY = ErrorCode(
    "L207",
    "the name of the log file is empty",
    cause=f"The event names the next log. {_CHANGED}",
)
SLAVE_NAMES = ErrorCode(
    "L208",
    "the names of the source and its log are not two, each with an end",
    cause=_CHANGED,
)
HEARTBEAT_INCOMPLETE = ErrorCode(
    "L209",
    "the heartbeat lacks its file or its position",
    cause=f"A heartbeat says up to which position the server has sent its log. {_CHANGED}",
)
USER_VARIABLE_TYPE = ErrorCode(
    "L211",
    "a user variable has no value of type {value}",
    cause=_CHANGED,
    example={"value": 9},
)
FILE_NAME_OUTSIDE = ErrorCode(
    "L212",
    "the file name from {start} to {end} is not in a query of {length} bytes",
    cause=f"The event of a LOAD DATA says which part of its text is the name of a file. {_CHANGED}",
    example={"start": 20, "end": 95, "length": 90},
)
NOT_A_GNO = ErrorCode(
    "L221",
    "{number} is not the number of a GTID",
    cause=f"The number of a GTID is from 1 to 9223372036854775806. {_CHANGED}",
    example={"number": 0},
)
ANONYMOUS_WITH_GTID = ErrorCode(
    "L222",
    "it has a GTID, but an anonymous transaction has none",
    cause=_CHANGED,
)
TAGGED_FIELD_UNKNOWN = ErrorCode(
    "L223",
    "field {number} is not known and must not be left out",
    "upgrade the connector",
    cause="A newer server wrote a field that a reader must understand.",
    example={"number": 14},
)
TAGGED_INCOMPLETE = ErrorCode(
    "L224",
    "the message lacks the uuid or the number of its GTID",
    cause=_CHANGED,
)
UUID_BYTE = ErrorCode(
    "L225",
    "a byte of the uuid is above 255",
    cause=f"Each byte is written as a number of its own. {_CHANGED}",
)
COMMIT_TIME = ErrorCode(
    "L226",
    "a commit cannot be {microseconds} microseconds after 1970",
    cause=_CHANGED,
    example={"microseconds": 1 << 60},
)
GTID_INTERVAL = ErrorCode(
    "L227",
    "interval {start}-{end} of {server} at offset {offset} of a GTID set does not rise",
    cause=f"The intervals of a server rise and do not touch each other. {_CHANGED}",
    example={
        "start": 9,
        "end": 5,
        "server": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "offset": 24,
    },
)
GTID_SERVER = ErrorCode(
    "L228",
    "a GTID set holds {server} twice or without an interval",
    cause=_CHANGED,
    example={"server": "3e11fa47-71ca-11e1-9e33-c80aa9429562"},
)
GTID_TAG = ErrorCode(
    "L229",
    "the tag at offset {offset} of a GTID set is not one to 32 of a-z, 0-9 and _",
    cause=_CHANGED,
    example={"offset": 24},
)
VIEW_ID = ErrorCode(
    "L231",
    "the view id is empty or goes on after its end",
    cause=f"Group replication numbers its views, and fills the id up with zeros. {_CHANGED}",
)
XA_NAME_LENGTH = ErrorCode(
    "L232",
    "the name of an XA transaction has parts of at most {limit} bytes, not {gtrid} and {bqual}",
    cause=_CHANGED,
    example={"limit": 64, "gtrid": 70, "bqual": 0},
)
ONE_PHASE = ErrorCode(
    "L233",
    "one_phase is {value}, neither 0 nor 1",
    cause=_CHANGED,
    example={"value": 2},
)
