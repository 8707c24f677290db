"""Tables that the stream wants copied anew, until the copies have their turn."""

from __future__ import annotations


class WantedCopies:
    """Keeps what came within a transaction: copies are begun after it."""

    def __init__(self) -> None:
        """Begin without a table."""
        self._reasons: list[tuple[str, str, str]] = []

    def want(self, database: str, table: str, reason: str) -> None:
        """Have a table copied."""
        self._reasons.append((database, table, reason))

    def forget(self, database: str, table: str) -> None:
        """Leave out a table that is gone; "" is each table of the database."""
        self._reasons = [
            wanted
            for wanted in self._reasons
            if wanted[0] != database or table not in ("", wanted[1])
        ]

    def take(self) -> list[tuple[str, str, str]]:
        """Return database, table and reason of each, and keep none."""
        taken, self._reasons = self._reasons, []
        return taken
