"""L700: events in an order that no server writes, and events that are left out."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

NESTED_TRANSACTION = ErrorCode(
    "L701",
    "{log_position}: a transaction starts inside the one that started at {file}:{position} and "
    "has not ended",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    cause="Servers write transactions one after the other. Events were lost or changed.",
    example={"log_position": "binlog.000042:2200", "file": "binlog.000042", "position": 1187},
)
OUTSIDE_TRANSACTION = ErrorCode(
    "L702",
    "{log_position}: {event_name} outside of a transaction",
    "the stream must start at the first event of a transaction",
    cause="Reading began between the events of a transaction, so the first ones are not known.",
    example={"log_position": "binlog.000042:1187", "event_name": "WRITE_ROWS_EVENT"},
)
IGNORED_EVENT = ErrorCode(
    "L711",
    "skipped an event of an unknown type, which its server flagged as ignorable",
    end=End.LOGGED,
    cause="A newer server wrote the event. The flag says that no reader needs it.",
)
