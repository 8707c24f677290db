"""The keys that the stream changes while tables are copied.

A chunk of a copy is read while the stream continues. A row of the chunk is outdated if the stream
has written its key since the chunk's *window* opened, which was before the chunk was read; such
rows are left out. So the keys of a table's records are kept while a window is open. Changes of the
whole table are counted: chunks that were read before them are invalid.
"""

from typing import Final, final

from connector.binlog.statement import StatementKind

# The most keys that are kept for a table. Above it, chunks are read again when the stream is near
# the end of the log.
KEYS_MAX: Final = 1_000_000

_CLOSED: Final = 0


@final
class TableWindows:
    """The changes of the stream to one table."""

    __slots__ = ("_generations", "_newest", "_windows", "changes", "keys", "schema_id")

    def __init__(self) -> None:
        # The keys of written records; None while no window is open.
        self.keys: set[bytes] | None = None
        # Counts statements on the whole table, and new column lists.
        self.changes = 0
        # The column list of the chunks; a row with a different one is a change of the table.
        self.schema_id = ""
        self._newest = _CLOSED
        # By the number of the window: the keys from its opening to that of the next one.
        self._generations: dict[int, set[bytes]] = {}
        self._windows: set[int] = set()

    def open_window(self) -> int:
        """Keep keys from now on; return the number of the new window."""
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
        """Drop the keys that no open window needs."""
        self._windows.discard(window)
        oldest = min(self._windows, default=self._newest + 1)
        for number in [number for number in self._generations if number < oldest]:
            del self._generations[number]
        if not self._windows:
            self.keys = None

    def give_up(self) -> None:
        """Drop all keys: every chunk read until now must be read again."""
        self.changes += 1
        self._generations.clear()
        self.keys = None

    @property
    def key_count(self) -> int:
        """Number of kept keys."""
        return sum(len(keys) for keys in self._generations.values())


@final
class KeyWindows:
    """The tables of one stream, by `database.table`."""

    def __init__(self) -> None:
        self._tables: dict[str, TableWindows] = {}
        # The last statement on each table, or on each database if the table is "", in order, until
        # the caller takes them.
        self.statements: dict[tuple[str, str], StatementKind] = {}
        # (database, table) of tables that have had rows, until the caller takes them.
        self.published: set[tuple[str, str]] = set()

    def table(self, name: str) -> TableWindows:
        """Return the table with that name, always the same object."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = TableWindows()
        return table

    def changed(self, kind: StatementKind, database: str, table: str) -> None:
        """Note a statement on a table, or on all of `database` if `table` is ""."""
        self.statements.pop((database, table), None)
        self.statements[database, table] = kind
        if table:
            self.table(f"{database}.{table}").changes += 1
            return
        for name, watched in self._tables.items():
            if name.startswith(f"{database}."):
                watched.changes += 1
