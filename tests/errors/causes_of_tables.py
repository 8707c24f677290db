"""Rows and their schemas, copies of tables, quarantine."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

ROWS = Group(
    "Rows and schemas",
    "With `quarantine.policy` fence-key or fence-table, such changes go to quarantine instead.",
    (Cause(),),
)

COPIES = Group(
    "Copies of tables",
    "What stops a copy that was asked for by `snapshot` fails this copy alone, with exit code 3 of "
    "the command; at a start from `snapshot` it stops the run.",
    (Cause(),),
)


QUARANTINE = Group(
    "Quarantine",
    "docs/quarantine.md tells what goes there, and how it comes back.",
    (
        Cause(
            "quarantine.database",
            "{what}: all of database {database} is kept back",
            ": {reason}",
            End.LOGGED,
        ),
        Cause(),
    ),
)

TABLES = (ROWS, COPIES, QUARANTINE)
