"""What comes of a log: the stream itself, changes that cannot be carried, XA."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_START = "give the pipeline a new name and set source.start"
_CONTINUE = f"continue behind it: {_START}"
_NOTHING = ". Nothing from this transaction was published"
_ROW_FORMAT = (
    ": a session ran with binlog_format=STATEMENT or MIXED: SET GLOBAL binlog_format=ROW, take the "
    f"right to change it from the application, repair the rows it touched, and {_CONTINUE}"
    f"{_NOTHING}"
)


def _refused(key: str, what: str, fix: str, end: End = End.DEFINITE) -> Cause:
    return Cause(
        key,
        f"{{event}}: {what} cannot be carried without loss (transaction {{transaction}})",
        fix,
        end,
    )


def _broken(key: str, what: str) -> Cause:
    return Cause(key, f"{{place}}: {what}", "", End.RETRIED)


STREAM = Group(
    "The connection of the stream, and of copies",
    "A stream that breaks is opened anew, from committed progress.",
    (
        _broken(
            "stream.dead",
            "silent for {silent} seconds, although it answers another session: the connection is "
            "dead",
        ),
        Cause(
            "stream.quiet",
            "{place}: silent for {silent} seconds: no heartbeat comes",
            "",
            End.LOGGED,
        ),
        Cause(
            "stream.rolled_back",
            "{event}: transaction {transaction} was rolled back when it was read before, and is "
            "not now: it comes from another server",
            "",
            End.RETRIED,
        ),
        Cause(
            "stream.no_room",
            "{directory}: rows of an open transaction cannot be kept: {why}",
            ": make room there, or let TMPDIR name another folder",
            End.RETRIED,
        ),
    ),
)

DAMAGE = Group(
    "Events that cannot be read",
    "`event` is FILE:POSITION in the source's log. docs/coverage.md lists what is read.",
    (
        Cause(
            "event.nested",
            "{event}: a transaction starts inside the one that started at {file}:{position} and "
            "has not ended",
            "; compare with `mysqlbinlog --start-position={position} {file}`",
        ),
        Cause(
            "event.outside",
            "{event}: {name} outside of a transaction",
            "; the stream must start at a transaction's first event",
        ),
        Cause(
            "event.ignored",
            "skipped an event of an unknown type, which its server flagged as ignorable",
            "",
            End.LOGGED,
        ),
        Cause(
            "event.incident",
            "{event}: the server's report of an incident, {incident}, cannot be carried without "
            "loss (transaction {transaction})",
            ": changes may be missing from its log, so copy the followed tables anew, and "
            f"{_CONTINUE}{_NOTHING}",
        ),
    ),
)

STATEMENTS = Group(
    "Changes that are logged as statements, DDL, XA",
    "With `quarantine.policy` fence-key or fence-table, a statement whose table or database is "
    "known goes to quarantine instead. DDL that changes rows without row events is no failure: the "
    "table is copied anew (docs/schemas.md).",
    (
        _refused(
            "statement.database",
            "{verb} in database {database}, logged as a statement,",
            _ROW_FORMAT,
        ),
        _refused(
            "statement.many",
            "{verb} in more databases than the log names, logged as a statement,",
            _ROW_FORMAT,
        ),
        _refused("statement.load", "LOAD DATA into {table}, logged as a statement,", _ROW_FORMAT),
        _refused(
            "statement.savepoint",
            "ROLLBACK TO SAVEPOINT behind row changes",
            ": which savepoint is meant cannot be told for certain: give savepoints names in "
            f"ASCII, repair the rows it touched, and {_CONTINUE}{_NOTHING}",
        ),
        _refused(
            "xa.before",
            "XA COMMIT of rows that came before the stream began",
            f": where they are of followed tables, repair these; then {_CONTINUE}{_NOTHING}",
        ),
        _refused("xa.verb", "XA {verb}", f": use plain transactions on followed tables{_NOTHING}"),
    ),
)

LOGS = (STREAM, DAMAGE, STATEMENTS)
