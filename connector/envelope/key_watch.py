"""The keys that the stream changes while tables are copied.

A chunk of a copy is read while the stream goes on. Its rows are outdated where the stream has
written their keys since the chunk's *window* opened, which was before the chunk was read; these
rows are left out. So the keys of a table's records are kept as long as a window of it is open, and
what changes the table as a whole is counted: what was read before counts no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from connector.changes.statement import StatementKind

# Keys of a table that are kept at most; beyond, its chunks are read again once the stream is near
# the end of the log.
KEYS_MAX: Final = 1_000_000

_CLOSED: Final = 0


@final
class WatchedTable:
    """What the stream does to one table."""

    __slots__ = ("_generations", "_newest", "_windows", "changes", "keys", "schema_id")

    def __init__(self) -> None:
        """Begin without a window."""
        # Where the keys of records go; None while no window is open.
        self.keys: set[bytes] | None = None
        # Statements on the table as a whole, and new column lists.
        self.changes = 0
        # Of the chunks that are read; a row with another one is a change of the table.
        self.schema_id = ""
        self._newest = _CLOSED
        # By the window that each began with: the keys until the next one.
        self._generations: dict[int, set[bytes]] = {}
        self._windows: set[int] = set()

    def open_window(self) -> int:
        """Keep keys from now on; return the number of the window."""
        self._newest += 1
        self._windows.add(self._newest)
        self.keys = self._generations[self._newest] = set()
        return self._newest

    def touched_since(self, window: int) -> set[bytes]:
        """Return the keys that were written since `window` opened."""
        since = [keys for number, keys in self._generations.items() if number >= window and keys]
        if not since:
            return set()
        return since[0] if len(since) == 1 else since[0].union(*since[1:])

    def close_window(self, window: int) -> None:
        """Forget the keys that no open window asks for."""
        self._windows.discard(window)
        oldest = min(self._windows, default=self._newest + 1)
        for number in [number for number in self._generations if number < oldest]:
            del self._generations[number]
        if not self._windows:
            self.keys = None

    def give_up(self) -> None:
        """Forget all keys: what was read until now is to be read again."""
        self.changes += 1
        self._generations.clear()
        self.keys = None

    @property
    def key_count(self) -> int:
        """How many keys are kept."""
        return sum(len(keys) for keys in self._generations.values())


@final
class KeyWatch:
    """The tables of one stream, by `database.table`."""

    def __init__(self) -> None:
        """Begin without a table."""
        self._tables: dict[str, WatchedTable] = {}
        # The last statement on each table, or database where the table is "", in their order, until
        # somebody takes note of it.
        self.statements: dict[tuple[str, str], StatementKind] = {}
        # (database, table) of those that have had rows, until somebody takes note of them.
        self.published: set[tuple[str, str]] = set()

    def table(self, name: str) -> WatchedTable:
        """Return the table of that name, always the same object."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = WatchedTable()
        return table

    def changed(self, kind: StatementKind, database: str, table: str) -> None:
        """Take note of a statement on a table, or on all of `database` where `table` is ""."""
        self.statements.pop((database, table), None)
        self.statements[database, table] = kind
        if table:
            self.table(f"{database}.{table}").changes += 1
            return
        for name, watched in self._tables.items():
            if name.startswith(f"{database}."):
                watched.changes += 1
