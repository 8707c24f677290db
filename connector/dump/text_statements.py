"""Events that are statements, or belong to one, become summaries and lines.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from connector.binlog.statement_events import QueryEvent, RowsQueryEvent
from connector.dump.text_session import END, SessionText

if TYPE_CHECKING:
    from connector.binlog.event import Event

# The end of the header line, and the lines behind it.
Description = tuple[str, Iterable[str]]


def commented(text: str, mark: str = "# ") -> list[str]:
    """Return the lines of `text`, each behind `mark`."""
    return [mark + line for line in text.split("\n")]


def _query(session: SessionText, event: Event, body: QueryEvent) -> Description:
    summary = (
        f"Query\tthread_id={body.thread_id}\texec_time={body.exec_time}"
        f"\terror_code={body.error_code}"
    )
    if body.status_variables.ddl_xid is not None:
        summary += f"\tXid = {body.status_variables.ddl_xid}"
    return summary, [*session.settings(event.header, body), *body.query.split("\n"), END]


def _rows_query(session: SessionText, event: Event, body: RowsQueryEvent) -> Description:
    del session, event
    return "Rows_query", commented(body.query)


STATEMENTS: dict[type, Callable[[SessionText, Event, Any], Description]] = {
    QueryEvent: _query,
    RowsQueryEvent: _rows_query,
}
