"""Rows and their schemas, copies of tables, quarantine."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_START = "give the pipeline a new name and set source.start"
_COPY_ANEW = (
    ": `binlog-connector snapshot CONFIG {table}` copies the table anew and lifts the fence"
)
_CORRECT = ": correct it, or exclude the table"
_SELECT = ": GRANT SELECT ON {grant} TO the account of source.user"
_FULL = ": SET GLOBAL binlog_row_metadata=FULL (MySQL 8.0.1, MariaDB 10.5 or newer), and continue"

ROWS = Group(
    "Rows and schemas",
    "With `quarantine.policy` fence-key or fence-table, such changes go to quarantine instead.",
    (
        Cause(
            "row.not_text",
            "{event}: table {table}: column {column} holds a value that is not text of its "
            "character set",
            _CORRECT,
        ),
        Cause(
            "row.type",
            "{event}: table {table}: column {column} has type {type}, which the envelope has no "
            "form for",
            ": exclude the table",
        ),
        Cause(
            "row.absent",
            '{event}: table {table}: a row was logged without column "{column}": a session ran '
            "with binlog_row_image=MINIMAL or NOBLOB",
            "; SET GLOBAL binlog_row_image=FULL, and give the pipeline a new name with "
            "source.start behind these rows",
        ),
        Cause(
            "row.key",
            "a row of {table} was logged without its key",
            ": SET GLOBAL binlog_row_image=FULL",
        ),
        Cause(
            "row.many",
            "{event}: table {table}: a rows event with more than {rows} rows cannot be numbered",
            ": split the change into smaller transactions",
        ),
        Cause(
            "row.many_events",
            "{event}: a transaction with more than {events} events cannot be numbered",
            ": split the change into smaller transactions",
        ),
        Cause(
            "order.end",
            "{event} in epoch {epoch} is beyond what a sequence can count",
            ": run RESET BINARY LOGS AND GTIDS on the source in a maintenance window and start the "
            "pipeline under a new name",
        ),
        Cause(
            "order.name",
            "log file {file!r} has no number at the end of its name, so it cannot be ordered",
            ": give it the name that its server gave it",
        ),
        Cause(
            "schema.topic",
            "tables {one} and {other} would share topic {topic}",
            ": exclude one of them in source.exclude_tables, or carry it in a pipeline with "
            "another kafka.topic_prefix",
        ),
        Cause(
            "schema.names",
            "{event}: the log has no column names for table {table}",
            f"{_FULL} behind the rows that were logged without them: {_START}",
        ),
        Cause(
            "schema.misfit",
            "{event}: the log does not name the columns of table {table}, and those that the "
            "server shows have other types",
            f"{_FULL} behind the rows that were logged without names: {_START}; or exclude the "
            "table",
        ),
    ),
)

COPIES = Group(
    "Copies of tables",
    "What stops a copy that was asked for by `snapshot` fails this copy alone, with exit code 3 of "
    "the command; at a start from `snapshot` it stops the run.",
    (
        Cause(
            "copy.denied",
            "{place}: table {table} cannot be copied: the account may not read it",
            ": GRANT {grant} ON `{database}`.* TO the account of source.user",
        ),
        Cause(
            "copy.changes",
            "copy of table {table}: {change}",
            ": run `binlog-connector snapshot` for it once it no longer changes",
        ),
        Cause(
            "copy.not_followed",
            "copy of table {table}: it is not followed",
            ": add it to source.tables, and restart the pipeline",
        ),
        Cause(
            "copy.where",
            "copy of table {table}: without a key, nobody could tell which rows replace which",
            ": copy all of it, without --where",
        ),
        Cause(
            "copy.type",
            "copy of table {table}: column {column} has type {type}, which the envelope has no "
            "form for",
            ": exclude the table",
        ),
        Cause(
            "copy.not_text",
            "copy of table {table}: column {column} holds a value that is not text of its "
            "character set",
            _CORRECT,
        ),
        Cause(
            "copy.geometry",
            "copy of table {table}: column {column} holds a geometry of {length} bytes",
            _CORRECT,
        ),
        Cause(
            "copy.vector",
            "copy of table {table}: column {column} holds a vector of {length} bytes",
            _CORRECT,
        ),
        Cause(
            "copy.columns",
            "copy of table {table}: the server sent a row that does not have {columns} columns",
            ": bytes were lost, or something between here and the server changed them: look at "
            "proxies, or set source.tls.mode to required",
        ),
        Cause(
            "copy.slow",
            "copy of table {table}: the server needs more than {seconds} seconds for one row",
            ": raise snapshot.statement_seconds_max",
            End.RETRIED,
        ),
        Cause(
            "copy.slow_where",
            "copy of table {table}: the server needs more than {seconds} seconds for one row",
            ": raise snapshot.statement_seconds_max, or choose a condition that an index answers",
        ),
        Cause(
            "copy.fenced",
            "copy of table {table}: the whole table is kept back ({why})",
            ": once the cause is gone, `binlog-connector snapshot CONFIG {table}` copies it anew "
            "and lifts the fence",
        ),
        Cause(
            "copy.pause_query",
            "{place}: snapshot.pause_query: its first column is not a number",
            ": write a query that returns 0 while reading may go on",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.not_followed",
            "{pattern}: no table of it is followed",
            ": add it to source.tables (and look at source.exclude_tables), and restart the "
            "pipeline",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.no_table",
            "{pattern}: {place} has no such table that the account may read",
            ": check the name, or GRANT SELECT on it TO the account of source.user",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.pattern",
            "{pattern!r} is not a pattern of tables",
            "; it looks like shop.orders or shop.*",
            End.CONFIGURATION,
        ),
        Cause(
            "condition.refused",
            "the condition {why}",
            ": docs/snapshot.md says what one may hold",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.condition",
            "--where: the condition {why}",
            ": docs/snapshot.md says what one may hold",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.condition_of_table",
            "{table}: --where: the condition {why}",
            ": docs/snapshot.md says what one may hold",
            End.CONFIGURATION,
        ),
        Cause(
            "copy.condition",
            "copy of table {table}: the condition {why}",
            ": docs/snapshot.md says what one may hold",
        ),
        Cause(
            "snapshot.large",
            "the request has {bytes} bytes, of 262144 at most",
            ": ask for fewer tables at a time",
            End.CONFIGURATION,
        ),
        Cause(
            "snapshot.ended",
            "{table}: the copy ended, because the table was dropped or renamed meanwhile",
            ": ask for it by the name that it has now",
        ),
    ),
)

_KEPT_BACK = (
    "`binlog-connector quarantine show CONFIG {table}` shows what is kept back, `binlog-connector "
    "snapshot CONFIG {table}` copies the table anew and lifts the fence"
)

QUARANTINE = Group(
    "Quarantine",
    "docs/quarantine.md tells what goes there, and how it comes back.",
    (
        Cause(
            "quarantine.room",
            "{event}: what {table} is described by does not fit into a record of the quarantine",
            ": raise kafka.record_bytes_max, and max.message.bytes of the topic where it existed "
            "before",
        ),
        Cause(
            "quarantine.version",
            "a record in the quarantine is not one of this version ({why})",
            ": upgrade the connector",
        ),
        Cause(
            "quarantine.statement",
            "{event}: {what}, logged as a statement, cannot be carried without loss (transaction "
            "{transaction}): a session ran with binlog_format=STATEMENT or MIXED",
            ": SET GLOBAL binlog_format=ROW, and take the right to change it from the "
            "application; `binlog-connector quarantine show CONFIG {table}` shows what is kept "
            "back, `binlog-connector snapshot CONFIG {table}` copies the tables of the database "
            "anew, and lifts the fence for each",
            End.LOGGED,
        ),
        Cause(
            "quarantine.absent_column",
            '{event}: table {table}: a row was logged without column "{column}": a session ran '
            "with binlog_row_image=MINIMAL or NOBLOB",
            "; SET GLOBAL binlog_row_image=FULL; " + _KEPT_BACK,
            End.LOGGED,
        ),
        Cause(
            "quarantine.database",
            "{what}: all of database {database} is kept back",
            ": {reason}",
            End.LOGGED,
        ),
        Cause(
            "replay.whole",
            "{table}: key {key}: {rows} stay: the whole table is fenced",
            ": replay it without a key",
        ),
        Cause(
            "replay.other_key",
            "{table}: key {key}: {rows} stay: a change of it also belongs to another key that is "
            "fenced",
            ": replay the whole table",
        ),
        Cause(
            "replay.statement",
            "{table}: {rows} stay: which rows a statement changed is not in the log, so it cannot "
            "be written again",
            _COPY_ANEW,
        ),
        Cause(
            "replay.copied",
            "{table}: {rows} stay: it keeps back a row that a copy has read, of which the log has "
            "no change",
            ": once the row can be carried, `binlog-connector snapshot CONFIG {table}` copies the "
            "table anew and lifts the fence",
        ),
        Cause(
            "replay.missing",
            "{table}: {rows} stay: {missing} of the changes that it keeps back are not in the "
            "quarantine",
            _COPY_ANEW,
        ),
    ),
)

TABLES = (ROWS, COPIES, QUARANTINE)
