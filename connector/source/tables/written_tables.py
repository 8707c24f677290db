"""Which tables a statement changes if it names a view.

https://dev.mysql.com/doc/refman/8.4/en/view-updatability.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import ConfigError, logging_rules
from connector.logging_rules.view_text import view_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.logging_rules.parsed_statement import TableName
    from connector.source.tables.stored_programs import StoredBody, StoredPrograms


@dataclass(frozen=True, slots=True)
class Written:
    """The tables below a view: which are changed, which only read, and the views themselves."""

    tables: tuple[TableName, ...]
    read: tuple[TableName, ...] = ()
    views: tuple[StoredBody, ...] = ()


class WrittenTables:
    """Asks one server for its views."""

    def __init__(self, programs: StoredPrograms) -> None:
        """Ask `programs`."""
        self._programs = programs

    def of(self, name: TableName, columns: Iterable[str]) -> Written:
        """Return the tables for a change of these columns; `name` has its database.

        A name that is no view is its own table. Raises ConfigError for a view that cannot be
        changed so, and for one whose text is not understood.
        """
        view = self._programs.view(*name)
        if view is None:
            return Written((name,))
        refused = ConfigError(logging_rules.VIEW_NOT_CHANGED, view=".".join(name))
        if not view.updatable or view.body is None:
            raise refused
        text = view_text(view.body)
        wanted: dict[TableName, list[str]] = {}
        for column in columns:
            if column.lower() not in text.columns:
                raise refused
            table, inner = text.columns[column.lower()]
            wanted.setdefault(table, []).append(inner)
        if not wanted and len(text.tables) > 1:
            raise refused
        below = [self.of(each, wanted.get(each, [])) for each in wanted or text.tables]
        others = [each for each in text.tables if each not in (wanted or text.tables)]
        return Written(
            tuple(dict.fromkeys(table for each in below for table in each.tables)),
            (*others, *(table for each in below for table in each.read)),
            (view, *(found for each in below for found in each.views)),
        )
