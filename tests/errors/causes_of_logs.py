"""What comes of a log: the stream itself, and XA."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group


def _broken(key: str, what: str) -> Cause:
    return Cause(key, f"{{place}}: {what}", "", End.RETRIED)


STREAM = Group(
    "The connection of the stream, and of copies",
    "A stream that breaks is opened anew, from committed progress.",
    (),
)

STATEMENTS = Group(
    "XA",
    "What is told at a start.",
    (),
)

LOGS = (STREAM, STATEMENTS)
