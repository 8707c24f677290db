"""The foreign keys of a source at the start of a run: what they hide, and what is done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.changes.cascaded_rows import CascadedRows
from connector.changes.cascades import Cascades
from connector.errors import line
from connector.source.checks.cascades import hidden_cascades

if TYPE_CHECKING:
    from connector.changes.table_filter import TableFilter
    from connector.progress.progress_record import Progress
    from connector.settings.sections import Settings
    from connector.source.choice import CheckedSource


def open_cascades(
    settings: Settings, source: CheckedSource, tables: TableFilter, last: Progress | None
) -> tuple[CascadedRows, Cascades | None]:
    """Return the rows that cascades have changed, and what finds more of them.

    With `schema.on_cascade = "warn"`, there are no rows, and nothing finds any. Raises
    SourceUnavailable or SourceRefused.
    """
    copies = settings.schema.on_cascade == "copy"
    rows = CascadedRows.of_record(last.cascaded_rows if copies and last is not None else {})
    for database, table in rows.tables:
        if not tables.follows(database, table):
            rows.forget(database, table)
    cascades = Cascades(tables, source.foreign_keys(), rows)
    hidden = cascades.hidden_children
    if hidden:
        problem = hidden_cascades(hidden, copies=copies)
        structlog.get_logger().warning(**line(problem.code, **problem.facts))
    if copies:
        return rows, cascades
    tables.parents = frozenset()
    return rows, None
