"""What comes of a log: the stream itself, and XA."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group


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
    ),
)

STATEMENTS = Group(
    "XA",
    "What is told at a start.",
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

LOGS = (STREAM, STATEMENTS)
