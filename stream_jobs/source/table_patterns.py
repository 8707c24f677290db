"""Patterns of tables in the order of the settings: the first one that fits decides."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

_T = TypeVar("_T")

_WILD: Final = frozenset("*?[")


def first_fit(choices: Iterable[tuple[str, str, _T]], database: str, table: str, default: _T) -> _T:
    """Return what is chosen for `database.table`; `default` if no pattern fits.

    A choice has the pattern of the database, that of the table, and what is chosen for them.
    """
    for of, name, chosen in choices:
        if fnmatchcase(database, of) and fnmatchcase(table, name):
            return chosen
    return default


def is_pattern(name: str) -> bool:
    """Return whether `name` may fit several names."""
    return not _WILD.isdisjoint(name)
