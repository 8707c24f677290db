"""Tables that the stream wants copied again, until the copies have their turn."""

from __future__ import annotations


class WantedCopies:
    """Keeps the tables that a transaction named: copies begin after it."""

    def __init__(self) -> None:
        """Begin without a table."""
        self._reasons: list[tuple[str, str, str]] = []

    def want(self, database: str, table: str, reason: str) -> None:
        """Add a table to copy, with the reason."""
        self._reasons.append((database, table, reason))

    def forget(self, database: str, table: str) -> None:
        """Drop a table that is gone; "" means each table of the database."""
        self._reasons = [
            wanted
            for wanted in self._reasons
            if wanted[0] != database or table not in ("", wanted[1])
        ]

    def take(self) -> list[tuple[str, str, str]]:
        """Return and drop (database, table, reason) of each table."""
        taken, self._reasons = self._reasons, []
        return taken
