"""Rows and their schemas, copies of tables, quarantine."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

ROWS = Group(
    "Rows and schemas",
    "With `quarantine.policy` fence-key or fence-table, such changes go to quarantine instead.",
    (
        Cause(
            "schema.gone",
            "source {address}: table {table} has rows at {event}, but does not exist, and the log "
            "up to {end} has no statement that drops it",
            ": exclude the table",
        ),
        Cause(
            "schema.labels",
            "{place}: table {table}: the log does not name the labels of column {column}, and the "
            "server shows some characters of them as `?`",
            ": SET GLOBAL binlog_row_metadata=FULL, or exclude the table",
        ),
        Cause(
            "schema.unseen",
            "{place}: table {table} does not exist, or the account may not read it",
            ": GRANT SELECT ON {database}.* TO the account of source.user",
        ),
        Cause(
            "schema.view",
            "{place}: {table} is a view, whose rows are not in the log",
            ": name the tables that it is made of",
        ),
    ),
)

COPIES = Group(
    "Copies of tables",
    "What stops a copy that was asked for by `snapshot` fails this copy alone, with exit code 3 of "
    "the command; at a start from `snapshot` it stops the run.",
    (
        Cause(
            "copy.hidden",
            "copy of table {table}: the log has a hidden column for a UNIQUE key of a BLOB or "
            "TEXT, which cannot be selected",
            ": give the key a length, or exclude the table",
        ),
        Cause(
            "snapshot.waits",
            "pipeline {pipeline} has not taken the request up within 15 seconds. It is kept for a "
            "week: a pipeline that delivers a large transaction does it then, one that does not "
            "run at its next start",
            " (binlog-connector run CONFIG)",
            End.COMMAND,
        ),
        Cause(
            "snapshot.silent",
            "pipeline {pipeline} has told nothing of the copy for {seconds} seconds",
            ": look at its log whether it pauses, delivers a large transaction, or does not run; "
            "the copy goes on when it does",
            End.LOGGED,
        ),
    ),
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
        Cause(
            "replay.database",
            "{what}: all of database {database} is kept back since {event}, because of a "
            "statement, and which rows it changed is not in the log",
            ": `binlog-connector snapshot CONFIG {table}` copies the table anew and lifts the "
            "fence",
            End.CONFIGURATION,
        ),
        Cause(
            "quarantine.nothing",
            "{what}: nothing of it is in the quarantine of pipeline {pipeline}",
            "; `quarantine list` shows what is kept back",
            End.CONFIGURATION,
        ),
        Cause(
            "replay.nothing",
            "{what}: nothing of it is kept back",
            "; `quarantine list` shows what is",
            End.CONFIGURATION,
        ),
        Cause(
            "replay.waits",
            "no pipeline {pipeline} has taken the request up",
            ": it is kept for a week, and done when one runs (binlog-connector run CONFIG)",
            End.COMMAND,
        ),
        Cause(
            "replay.copy",
            "{table}: a copy of it has failed, and the rows that it did not write are missing",
            ": `binlog-connector snapshot {config} {table}` copies the table anew",
        ),
    ),
)

TABLES = (ROWS, COPIES, QUARANTINE)
