"""The conditions of `envelope.filters` become the filters of column lists.

They are read as the condition of a copy. The server evaluates that one; these are evaluated here,
so they hold only what gives the same result here: no functions, no calculations, and no order of
texts, which depends on the collation. Texts are equal if their characters are.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, final

from sqlglot import expressions as exp

from connector.envelope.filters import terms
from connector.envelope.filters.row_filter import FilteredTable, RowFilter, RowFilters
from connector.errors import ConfigError, conditions
from connector.snapshot.condition import Condition
from connector.snapshot.filter_binding import COMPARISONS, FilterBinding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.settings.routing import FilterSettings

_ALLOWED: Final = (
    *COMPARISONS,
    *(exp.And, exp.Or, exp.Xor, exp.Not, exp.Paren, exp.NullSafeEQ, exp.Is, exp.In, exp.Between),
    *(exp.Like, exp.Escape, exp.Neg, exp.Column, exp.Identifier, exp.Literal, exp.HexString),
    *(exp.Null, exp.Boolean),
)
# AND and OR of any length are one level.
_DEPTH_MAX: Final = 64


@final
class ConditionFilters(RowFilters):
    """The filters of a configuration; a row must meet all conditions of its table."""

    def __init__(self, settings: Sequence[FilterSettings]) -> None:
        """Read the conditions; raises ConfigError for one that cannot be evaluated here."""
        self._conditions: list[tuple[str, str, exp.Expr]] = []
        for each in settings:
            database, _, table = each.tables.partition(".")
            try:
                tree = Condition.parse(each.where).tree
                _require_evaluable(tree)
            except ConfigError as error:
                raise ConfigError(conditions.FILTER, tables=each.tables, why=error) from error
            self._conditions.append((database, table, tree))

    def of(self, table: FilteredTable) -> RowFilter | None:
        """Return the filter of a column list; raises UnsupportedChange as `RowFilters.of`."""
        binding = FilterBinding(table)
        found = [
            binding.truth(tree)
            for database, name, tree in self._conditions
            if fnmatchcase(table.database, database) and fnmatchcase(table.name, name)
        ]
        return RowFilter(table, binding.indexes, terms.every(found)) if found else None


def _require_evaluable(tree: exp.Expr) -> None:
    """Raise ConfigError for a tree that holds something else than comparisons, or is too deep."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, _ALLOWED) or (isinstance(node, exp.Neg) and not _is_number(node)):
            raise ConfigError(conditions.CALCULATES)
        if isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower():
            raise ConfigError(conditions.CALCULATES)
        if depth > _DEPTH_MAX:
            raise ConfigError(conditions.DEPTH, limit=_DEPTH_MAX)
        for child in node.iter_expressions():
            is_chain = type(child) is type(node) and isinstance(node, (exp.And, exp.Or))
            waiting.append((child, depth if is_chain else depth + 1))


def _is_number(node: exp.Neg) -> bool:
    return isinstance(node.this, exp.Literal) and not node.this.is_string
