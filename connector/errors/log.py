"""L: the bytes of a log, of a payload, of a conversation."""

from __future__ import annotations

from connector.errors.code import End, ErrorCode

PAYLOAD_ENDS = ErrorCode(
    "L101",
    "need {needed} bytes at offset {offset}, but the payload ends at {end}",
    cause=(
        "A field of a payload is longer than what is left of the payload. Bytes were lost or "
        "changed, or the payload is of a form that this version does not know."
    ),
    example={"needed": 18, "offset": 23, "end": 31},
)
EVENT_DAMAGED = ErrorCode(
    "L102",
    "{file}:{position}: cannot decode {event}: {why}",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    cause=(
        "The bytes of an event are not what they claim to be. The code of the text is that of the "
        "reason inside of the event, so this code itself is never shown."
    ),
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
FILE_REFUSED = ErrorCode(
    "L105",
    "{file}: {why}",
    cause="The file is no binary log, is encrypted, or has a storage format that is not read.",
    example={"file": "binlog.000042", "why": "this is not a binary log"},
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
