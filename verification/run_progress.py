"""How far one run over all tables is."""

import threading
from typing import NamedTuple


class RunFigures(NamedTuple):
    """The state of a run at one moment."""

    tables: int  # to compare
    ended: int  # that were compared
    rows: int  # that were read of both sides
    done: float  # tables, with the parts of those that are being compared
    current: str  # the table that is being compared, if it is one


class RunProgress:
    """Counts tables and rows; several threads may call it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._tables = 0
        self._ended = 0
        self._rows = 0
        # Of tables that are being compared: rows that were read, and about how many there are.
        self._begun: dict[str, tuple[int, int]] = {}

    def begin(self, tables: int) -> None:
        """Note how many tables there are."""
        with self._turn:
            self._tables, self._ended, self._rows = tables, 0, 0
            self._begun.clear()

    def read(self, table: str, done: int, total: int) -> None:
        """Note that `done` rows of a table were read, of about `total`, on both sides."""
        with self._turn:
            before, _ = self._begun.get(table, (0, 0))
            self._begun[table] = done, max(done, total)
            self._rows += max(0, done - before)

    def end(self, table: str, rows: int) -> None:
        """Note that a table was compared; `rows` are those of both sides."""
        with self._turn:
            if self._begun.pop(table, None) is None:
                # It was compared together with others.
                self._rows += rows
            self._ended += 1

    def figures(self) -> RunFigures:
        """Return the state now."""
        with self._turn:
            parts = sum(done / total for done, total in self._begun.values() if total)
            current = next(iter(self._begun)) if len(self._begun) == 1 else ""
            return RunFigures(self._tables, self._ended, self._rows, self._ended + parts, current)
