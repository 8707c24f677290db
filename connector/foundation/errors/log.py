"""L100: fields of a payload, and what frames an error of an event."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

_CHANGED = (
    "Bytes were lost or changed, or the payload is of a form that this version does not know."
)

PAYLOAD_ENDS = ErrorCode(
    "L101",
    "need {needed} bytes at offset {offset}, but the payload ends at {end}",
    cause=f"A field of a payload is longer than what is left of the payload. {_CHANGED}",
    example={"needed": 18, "offset": 23, "end": 31},
    scope=Scope.PLACE,
)
EVENT_DAMAGED = ErrorCode(
    "L102",
    "{file}:{position}: cannot decode {event}: {why}",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    frame=True,
    cause="The bytes of an event are not what they claim to be.",
    example={
        "file": "binlog.000042",
        "position": 1187,
        "event": "TABLE_MAP_EVENT",
        "why": "need 18 bytes at offset 23, but the payload ends at 31",
    },
)
FILE_ENDS = ErrorCode(
    "L103",
    "{file}:{position}: the file ends inside an event: need {needed} bytes, but {found} are left",
    "every event before {position} is complete",
    cause="The server died while it wrote the file, or the file was copied while it was written.",
    example={"file": "binlog.000042", "position": 1187, "needed": 19, "found": 7},
)
ROLLED_BACK = ErrorCode(
    "L104",
    "transaction {transaction} was rolled back after its rows were sent",
    end=End.RETRIED,
    cause=(
        "A transaction that was prepared by XA, or that changed tables without transactions, was "
        "rolled back at its end. The stream reads it again and leaves its rows out."
    ),
    example={"transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42"},
)
NOT_PUBLISHED = ErrorCode(
    "L105",
    "{why}. Nothing from this transaction was published",
    frame=True,
    cause="The stream stops at the first event that it cannot read, before its transaction.",
    example={
        "why": "binlog.000042:1187: cannot decode XID_EVENT: 3 bytes are left over after the last "
        "field; compare with `mysqlbinlog --start-position=1187 binlog.000042`"
    },
)
LENGTH_UNKNOWN = ErrorCode(
    "L111",
    "{first:#04x} at offset {offset} does not start a length-encoded integer",
    cause=f"The first byte of such a number says how many bytes follow it. {_CHANGED}",
    example={"first": 0xFB, "offset": 12},
    scope=Scope.PLACE,
)
LEFT_OVER = ErrorCode(
    "L112",
    "{count} bytes are left over after {field}",
    cause=f"Every field was read, and there is more than them. {_CHANGED}",
    example={"count": 3, "field": "the last field"},
    scope=Scope.PLACE,
)
NO_END = ErrorCode(
    "L113",
    "the {field} has no end",
    cause=f"The field ends with a zero byte, and there is none. {_CHANGED}",
    example={"field": "name of the file"},
    scope=Scope.PLACE,
)
END_ELSEWHERE = ErrorCode(
    "L114",
    "the {field} does not end where its length says",
    cause=f"A zero byte must follow the field, and another byte does. {_CHANGED}",
    example={"field": "name of the table"},
    scope=Scope.PLACE,
)
NOT_UTF8 = ErrorCode(
    "L115",
    "the {field} is not UTF-8",
    cause=f"Servers write such a field in UTF-8 alone. {_CHANGED}",
    example={"field": "name of a column"},
    scope=Scope.PLACE,
)
NOT_ASCII = ErrorCode(
    "L116",
    "the {field} is not ASCII",
    cause=f"Servers write such a field in ASCII alone. {_CHANGED}",
    example={"field": "view id"},
    scope=Scope.PLACE,
)
VALUE_UNKNOWN = ErrorCode(
    "L121",
    "{field} {value} is not known",
    "upgrade the connector",
    cause=(
        "The field has a value that no server wrote when this version was made. A newer server "
        "wrote it, or bytes were changed."
    ),
    example={"field": "compression type", "value": 7},
    scope=Scope.PLACE,
)
