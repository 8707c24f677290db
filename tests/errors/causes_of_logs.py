"""What comes of a log: the stream itself, changes that cannot be carried, XA."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_GARBLED = (
    ": bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set source.tls.mode to required"
)
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
        _broken("stream.closed", "the server closed the connection"),
        _broken("stream.broke", "the connection broke: {why}"),
        _broken("stream.ended", "the server ended the dump"),
        _broken("stream.closed_here", "the stream was closed here"),
        _broken("session.closed", "the connection was closed"),
        _broken("session.closed_here", "the session was closed here"),
        Cause(
            "stream.silent",
            "{place}: silent for {silent} seconds, although heartbeats were to come 3 times in "
            "source.read_timeout_seconds ({timeout}): the server or the network is gone",
            "",
            End.RETRIED,
        ),
        Cause(
            "session.silent",
            "{place}: no answer to a query in {timeout} seconds: the server or the network is "
            "gone, or the query is slow",
            ": look at SHOW PROCESSLIST, and at source.read_timeout_seconds",
            End.RETRIED,
        ),
        Cause("stream.packet", "{place}: the replication stream has {what}", _GARBLED),
        Cause("session.packet", "{place}: the answer to a query has {what}", _GARBLED),
    ),
)

DAMAGE = Group(
    "Events that cannot be read",
    "`event` is FILE:POSITION in the source's log. docs/coverage.md lists what is read.",
    (),
)

STATEMENTS = Group(
    "Changes that are logged as statements, DDL, XA",
    "With `quarantine.policy` fence-key or fence-table, a statement whose table or database is "
    "known goes to quarantine instead. DDL that changes rows without row events is no failure: the "
    "table is copied anew (docs/schemas.md).",
    (
        Cause(
            "xa.prepared",
            "XA transactions were prepared before the stream begins, and what they changed is not "
            "in it: XA COMMIT of one will stop it",
            "; commit them or roll them back, and begin then",
            End.LOGGED,
        ),
    ),
)

LOGS = (STREAM, DAMAGE, STATEMENTS)
