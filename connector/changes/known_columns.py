"""What consumers know of a table's columns: the interface that the envelope implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.contract import SchemaColumn

# A rebuild outside strict mode can turn partial dates of these types into zeros.
_DATES: Final = ("date", "datetime", "timestamp")


@final
class KnownColumns:
    """The columns of the rows that consumers have, and names that no new column can have."""

    def __init__(self, columns: Iterable[SchemaColumn] = (), taken: Iterable[str] = ()) -> None:
        """Know `columns`.

        `taken` are names of columns that have had no row since ADD COLUMN, or that earlier rows
        have: consumers could take those for columns that are added under these names.
        """
        # Names compare without case, as on the servers.
        self._columns = {column["name"].lower(): column for column in columns}
        self._taken = frozenset(name.lower() for name in taken)

    @property
    def nothing(self) -> bool:
        """Whether consumers have no rows of the table, so that no change can make them wrong."""
        return not self._columns

    @property
    def has_dates(self) -> bool:
        """Whether a column can hold a partial date."""
        return any(column["type"] in _DATES for column in self._columns.values())

    def column(self, name: str) -> SchemaColumn | None:
        """Return the column that consumers know under `name`."""
        return self._columns.get(name.lower())

    def uses(self, name: str) -> bool:
        """Return whether a column has, or has had, this name."""
        return name.lower() in self._columns or name.lower() in self._taken


@mypyc_attr(allow_interpreted_subclasses=True)
class PublishedColumns:
    """The columns that consumers know, for each table; this base class knows none."""

    def known(self, database: str, table: str) -> KnownColumns | None:
        """Return what consumers know of a table; None if it is not certain."""
        del database, table
        return None
