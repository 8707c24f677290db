"""The copies that are under way, in the order in which they are worked on.

There may be as many as there are tables, and only the first of them are looked at. So each question
takes the same time, however many there are.
"""

from collections.abc import Hashable, Iterator
from typing import Final, TypeAlias, TypeVar

from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.table_state import TableState

_TableName: TypeAlias = tuple[str, str]
# The stream waits while the rows of a group are written.
GROUP_TABLES: Final = 64

_Key = TypeVar("_Key", bound=Hashable)


class RunningCopies:
    """Copies, each by its number, its table, and the tables that are read together with it.

    The thread of the stream changes them. Any thread may make a list of them.
    """

    def __init__(self) -> None:
        # Without values: a set in order.
        self._copies: dict[TableCopy, None] = {}
        self._by_number: dict[int, TableCopy] = {}
        self._by_table: dict[_TableName, list[TableCopy]] = {}
        # By the text of the states.
        self._by_group: dict[str, list[TableCopy]] = {}

    def __bool__(self) -> bool:
        return bool(self._copies)

    def __contains__(self, copy: object) -> bool:
        return copy in self._copies

    def __iter__(self) -> Iterator[TableCopy]:
        # A list is made without running Python code, and so without waiting for a thread.
        return iter(list(self._copies))

    def add(self, copy: TableCopy) -> None:
        """Work on a copy after all others."""
        state = copy.state
        self._copies[copy] = None
        self._by_number[copy.number] = copy
        self._by_table.setdefault(_table(state), []).append(copy)
        if state.together:
            self._by_group.setdefault(state.together, []).append(copy)

    def remove(self, copy: TableCopy) -> None:
        """Forget a copy, which is among these."""
        state = copy.state
        del self._copies[copy]
        del self._by_number[copy.number]
        _take_out(self._by_table, _table(state), copy)
        if state.together:
            _take_out(self._by_group, state.together, copy)

    def restart(self, copy: TableCopy) -> None:
        """Have a copy drop its unwritten chunks; from then on it has another number."""
        before = copy.number
        copy.drop()
        if copy in self._copies:
            del self._by_number[before]
            self._by_number[copy.number] = copy

    def numbered(self, number: int) -> TableCopy | None:
        """Return the copy that has a number; None if it was dropped since."""
        return self._by_number.get(number)

    def of_table(self, table: _TableName) -> list[TableCopy]:
        """Return the copies of all rows, or of some, of (database, table)."""
        return self._by_table.get(table, [])

    def of_state(self, state: TableState) -> TableCopy | None:
        """Return the copy that has this state."""
        copies = self.of_table(_table(state))
        return next((copy for copy in copies if copy.state is state), None)

    @property
    def tables(self) -> set[_TableName]:
        """The (database, table) that are copied."""
        return set(self._by_table)

    def together(self, copy: TableCopy) -> list[TableCopy]:
        """Return the copies that are made at one position with this one, which is among them.

        It is a list of its own: callers remove copies while they go through it.
        """
        return [*self._by_group.get(copy.state.together, [copy])] if copy.state.together else [copy]

    def first(self, seconds: float, *, large_max: int, count_max: int) -> list[TableCopy]:
        """Return the first copies that need not wait, and those made together with them.

        They are at most `count_max`, or as many as follow before `large_max` have a plan and are
        too large for a group. `seconds` is the time of the clock of `TableCopy.not_before`.
        """
        first: dict[TableCopy, None] = {}
        large = 0
        for copy in self._copies:
            if large == large_max or len(first) >= count_max:
                break
            if copy.not_before > seconds:
                continue
            large += copy.is_large
            for other in self.together(copy):
                if other.not_before <= seconds:
                    first[other] = None
        return list(first)


def group_of(copies: list[TableCopy], bytes_max: int) -> list[TableCopy]:
    """Return the first of small tables that make a group of at most `bytes_max`, at least one."""
    size = 0
    for number, copy in enumerate(copies[:GROUP_TABLES]):
        size += copy.group_bytes or 0
        if number and size > bytes_max:
            return copies[:number]
    return copies[:GROUP_TABLES]


def _table(state: TableState) -> _TableName:
    return state.database, state.table


def _take_out(index: dict[_Key, list[TableCopy]], key: _Key, copy: TableCopy) -> None:
    copies = index[key]
    copies.remove(copy)
    if not copies:
        del index[key]
