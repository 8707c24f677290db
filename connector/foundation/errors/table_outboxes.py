"""T600: outbox tables whose rows cannot be events."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

NO_COLUMN = ErrorCode(
    "T601",
    "the outbox {table} has no column {column} in its records",
    "name its columns in [envelope.outbox], and start again",
    cause="Events have the values of a few columns; by default, those of Debezium's EventRouter.",
    example={"table": "erp.outbox", "column": "aggregatetype"},
    scope=Scope.TABLE,
)
TYPE = ErrorCode(
    "T602",
    "column {column} of type {type} cannot be a part of an event",
    "take a text, a JSON document, bytes or an integer",
    cause="Key, value and headers of an event are a text, bytes or a number.",
    example={"column": "erp.outbox.payload", "type": "GEOMETRY"},
    scope=Scope.TABLE,
)
NO_TOPIC = ErrorCode(
    "T603",
    "a row of the outbox {table} has no value in {column} that could be a part of the name of a "
    "topic of events",
    "correct the program that writes such rows, and {envelope.outbox.topic_name}",
    fence_fix="correct the program that writes such rows",
    passable=True,
    cause=(
        "The value is NULL, it has characters that no topic may have, or the topic holds other "
        "records."
    ),
    example={"table": "erp.outbox", "column": "aggregatetype"},
    scope=Scope.TABLE,
)
UPDATED = ErrorCode(
    "T604",
    "a row of the outbox {table} was updated",
    "write each event as a row of its own, or set {envelope.outbox.on_update}",
    fence_fix="write each event as a row of its own",
    passable=True,
    cause="An event that was sent cannot be changed.",
    example={"table": "erp.outbox"},
    scope=Scope.TABLE,
)
