"""Rows that foreign keys changed without a trace in the log, until they are copied.

The progress record keeps them, so a restart between a change of a parent and the copies of its
children loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.foreign_keys import ANY_ROW, WHOLE

if TYPE_CHECKING:
    from connector.changes.table_names import TableName

# With more, the condition of a copy would be as slow as a copy of all rows.
_TERMS_MAX: Final = 64
_CHARACTERS_MAX: Final = 4000


@final
class CascadedRows:
    """For each table, the terms that its changed rows meet: see `foreign_keys`."""

    def __init__(self) -> None:
        """Begin without any."""
        self._terms: dict[TableName, set[str]] = {}

    def count(self) -> int:
        """Return how many tables have such rows."""
        return len(self._terms)

    @property
    def tables(self) -> list[TableName]:
        """The tables that have such rows."""
        return list(self._terms)

    def add(self, table: TableName, terms: set[str]) -> None:
        """Add rows of a table."""
        known = self._terms.get(table)
        if known is None:
            known = self._terms[table] = set()
        elif terms <= known or WHOLE in known:
            return
        known |= terms
        if WHOLE in known:
            self._terms[table] = {WHOLE}
        elif ANY_ROW in known or len(known) > _TERMS_MAX or sum(map(len, known)) > _CHARACTERS_MAX:
            self._terms[table] = {ANY_ROW}

    def take(self, table: TableName) -> str:
        """Drop the rows of a table, and return their condition: `WHOLE`, or SQL."""
        return " OR ".join(
            f"({term})" if term else WHOLE for term in sorted(self._terms.pop(table))
        )

    def forget(self, database: str, table: str) -> None:
        """Drop the rows of a table that is gone; "" means each table of the database."""
        for name in self.tables:
            if name[0] == database and table in ("", name[1]):
                del self._terms[name]

    def to_record(self) -> dict[str, dict[str, list[str]]]:
        """Return the terms as a JSON object, by database and table."""
        record: dict[str, dict[str, list[str]]] = {}
        for (database, table), terms in self._terms.items():
            record.setdefault(database, {})[table] = sorted(terms)
        return record

    @staticmethod
    def of_record(record: dict[str, dict[str, list[str]]]) -> CascadedRows:
        """Return the rows of which `to_record` returned the terms."""
        rows = CascadedRows()
        for database, tables in record.items():
            for table, terms in tables.items():
                rows.add((database, table), set(terms))
        return rows
