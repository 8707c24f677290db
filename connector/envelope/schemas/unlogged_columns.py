"""Columns that a server has, and that its log leaves out of some rows."""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class UnloggedColumns:
    """Knows the columns that records leave out, because the log does not always have them."""

    def of(self, database: str, table: str) -> frozenset[str]:
        """Return the names of these columns of a table.

        Raises SourceUnavailable or SourceRefused.
        """
        raise NotImplementedError
