"""Converts the conditions of `envelope.filters` to the filters of column lists.

They are read as the condition of a copy. The server evaluates that one; these are evaluated here,
so they hold only what gives the same result here: no functions, no calculations, and no order of
texts, which depends on the collation. Texts are equal if their characters are.

`FilterBinding` makes the terms of a condition's tree with the columns of one column list.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn, final

from sqlglot import expressions as exp

from connector.foundation.errors import ConfigError, UnsupportedChange
from connector.foundation.errors.code import ErrorCode
from connector.foundation.settings.envelope import FilterSettings
from connector.stream.envelope.debezium import filter_terms, row_filter
from connector.stream.envelope.debezium.filter_terms import Term
from connector.stream.envelope.schemas.column_rules import is_named
from connector.stream.source import table_errors
from connector.stream.source.condition_parser import Condition

COMPARISONS: Final[dict[type[exp.Expr], int]] = {
    exp.EQ: filter_terms.EQUAL,
    exp.NEQ: filter_terms.BELOW | filter_terms.ABOVE,
    exp.LT: filter_terms.BELOW,
    exp.LTE: filter_terms.BELOW | filter_terms.EQUAL,
    exp.GT: filter_terms.ABOVE,
    exp.GTE: filter_terms.ABOVE | filter_terms.EQUAL,
}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?")
# A constant without a value, which is compared with anything.
_NULL: Final = "NULL"


@final
class FilterBinding:
    """Makes the terms of trees with the columns of one table."""

    def __init__(self, table: row_filter.FilteredTable) -> None:
        """Take the columns of `table`; methods raise UnsupportedChange for what does not fit."""
        self._table = table
        self._name = f"{table.database}.{table.name}"
        # The columns that are used, in the order in which a row has them.
        self.indexes: list[int] = []

    def truth(self, node: exp.Expr) -> Term:
        """Return a term that is True, False or unknown."""
        node = _bare(node)
        if isinstance(node, exp.And):
            return filter_terms.every(self._chain(node, exp.And))
        if isinstance(node, exp.Or):
            return filter_terms.some(self._chain(node, exp.Or))
        if isinstance(node, exp.Xor):
            return filter_terms.Xor(self.truth(node.this), self.truth(node.expression))
        if isinstance(node, exp.Not):
            return filter_terms.Not(self.truth(node.this))
        if isinstance(node, exp.Is):
            return self._is(node)
        if type(node) in COMPARISONS or isinstance(node, (exp.NullSafeEQ, exp.In, exp.Between)):
            return self._comparison(node)
        if isinstance(node, (exp.Like, exp.Escape)):
            return self._like(node)
        term, kind = self._operand(node)
        if kind not in (row_filter.NUMBER, _NULL):
            self._refuse(table_errors.NO_TRUTH, what=self._described(node))
        return filter_terms.Comparison(
            filter_terms.BELOW | filter_terms.ABOVE, term, filter_terms.Constant(0)
        )

    def _chain(self, node: exp.Expr, kind: type[exp.Expr]) -> list[Term]:
        """Return the terms of a chain of one operator, from left to right."""
        nodes: list[exp.Expr] = []
        while isinstance(node, kind):
            nodes.append(node.args["expression"])
            node = node.args["this"]
        return [self.truth(expression) for expression in (node, *reversed(nodes))]

    def _is(self, node: exp.Is) -> Term:
        if isinstance(node.expression, exp.Null):
            return filter_terms.IsNull(self._operand(node.this)[0])
        return filter_terms.IsTruth(self.truth(node.this), bool(node.expression.this))

    def _comparison(self, node: exp.Expr) -> Term:
        if isinstance(node, exp.In):
            operands = self._sides([node.this, *node.expressions])
            return filter_terms.In(operands[0], operands[1:])
        if isinstance(node, exp.Between):
            value, low, high = node.this, node.args["low"], node.args["high"]
            lowest = self._sides([value, low], ordered=True)
            highest = self._sides([value, high], ordered=True)
            return filter_terms.every(
                [
                    filter_terms.Comparison(filter_terms.ABOVE | filter_terms.EQUAL, *lowest),
                    filter_terms.Comparison(filter_terms.BELOW | filter_terms.EQUAL, *highest),
                ]
            )
        sides = [node.args["this"], node.args["expression"]]
        accepted = COMPARISONS.get(type(node))
        if accepted is None:
            left, right = self._sides(sides)
            return filter_terms.SameOrBothNull(left, right)
        left, right = self._sides(sides, ordered=not isinstance(node, (exp.EQ, exp.NEQ)))
        return filter_terms.Comparison(accepted, left, right)

    def _sides(self, nodes: list[exp.Expr], *, ordered: bool = False) -> list[Term]:
        """Return operands that are compared with the first one; all have one kind then."""
        operands = [self._operand(node) for node in nodes]
        first = next(
            (kind for _, kind in operands if kind in (row_filter.DATE, row_filter.MOMENT)),
            operands[0][1],
        )
        sides: list[Term] = []
        for node, (term, kind) in zip(nodes, operands, strict=True):
            bare = _bare(node)
            if (
                first in (row_filter.DATE, row_filter.MOMENT)
                and isinstance(bare, exp.Literal)
                and bare.is_string
            ):
                sides.append(filter_terms.Constant(self._moment(bare.name, first)))
                continue
            if row_filter.OTHER in (kind, first):
                other = node if kind == row_filter.OTHER else nodes[0]
                self._refuse(table_errors.NOT_COMPARABLE, what=self._described(other))
            if _NULL in (kind, first):
                first = kind if first == _NULL else first
            elif kind != first:
                one, other_one = self._described(nodes[0]), self._described(node)
                self._refuse(table_errors.KINDS, one=one, other=other_one)
            if ordered and kind == row_filter.TEXT:
                self._refuse(table_errors.ORDER, what=self._described(node))
            sides.append(term)
        return sides

    def _like(self, node: exp.Expr) -> Term:
        escape = ""
        if isinstance(node, exp.Escape):
            escape = node.expression.name
            node = node.this
        term, kind = self._operand(node.args["this"])
        pattern = _bare(node.args["expression"])
        if kind != row_filter.TEXT or not (isinstance(pattern, exp.Literal) and pattern.is_string):
            self._refuse(table_errors.LIKE, what=self._described(node.args["this"]))
        like = filter_terms.Like(term, pattern.name, escape)
        return filter_terms.Not(like) if node.args.get("negate") else like

    def _operand(self, node: exp.Expr) -> tuple[Term, str]:
        """Return the term of a column or a constant, or of a truth as a number, and its kind."""
        node = _bare(node)
        if isinstance(node, exp.Column):
            index = self._index(node)
            if index not in self.indexes:
                self.indexes.append(index)
            kind = row_filter.kind_of(self._table.columns[index])
            return filter_terms.Cell(self.indexes.index(index)), kind
        if isinstance(node, exp.Null):
            return filter_terms.Constant(None), _NULL
        if isinstance(node, exp.Boolean):
            return filter_terms.Constant(int(bool(node.this))), row_filter.NUMBER
        if isinstance(node, exp.HexString):
            return filter_terms.Constant(bytes.fromhex(node.name)), row_filter.BYTES
        if isinstance(node, exp.Neg):
            return filter_terms.Constant(-Decimal(node.this.name)), row_filter.NUMBER
        if isinstance(node, exp.Literal):
            if node.is_string:
                return filter_terms.Constant(node.name), row_filter.TEXT
            return filter_terms.Constant(Decimal(node.name)), row_filter.NUMBER
        return self.truth(node), row_filter.NUMBER

    def _index(self, node: exp.Column) -> int:
        """Return the number of a column; raises UnsupportedChange if records have no such one."""
        table = self._table
        names = [column["name"].lower() for column in table.columns]
        name = node.name.lower()
        if (node.table or table.name).lower() != table.name.lower() or (
            node.db or table.database
        ).lower() != table.database.lower():
            name = ""
        if name not in names:
            self._refuse(
                table_errors.FILTER_NO_COLUMN, column=".".join(part.name for part in node.parts)
            )
        index = names.index(name)
        if table.columns[index]["name"] in table.masked:
            column = f"{self._name}.{table.columns[index]['name']}"
            self._refuse(table_errors.MASKED, column=column)
        return index

    def _moment(self, text: str, kind: str) -> str:
        """Return a constant as dates or moments are compared."""
        if not (_DATE if kind == row_filter.DATE else _MOMENT).fullmatch(text):
            self._refuse(table_errors.NO_MOMENT, constant=text)
        return text if kind == row_filter.DATE else row_filter.moment(text)

    def _described(self, node: exp.Expr) -> str:
        node = _bare(node)
        if isinstance(node, exp.Column):
            column = self._table.columns[self._index(node)]
            return f"{self._name}.{column['name']} ({column['type'].upper()})"
        return str(node.sql(dialect="mysql"))

    def _refuse(self, code: ErrorCode, **facts: Any) -> NoReturn:
        raise UnsupportedChange(code, table=self._name, **facts)


def _bare(node: exp.Expr) -> exp.Expr:
    """Return a node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


_ALLOWED: Final = (
    *COMPARISONS,
    *(exp.And, exp.Or, exp.Xor, exp.Not, exp.Paren, exp.NullSafeEQ, exp.Is, exp.In, exp.Between),
    *(exp.Like, exp.Escape, exp.Neg, exp.Column, exp.Identifier, exp.Literal, exp.HexString),
    *(exp.Null, exp.Boolean),
)
# AND and OR of any length are one level.
_DEPTH_MAX: Final = 64


@final
class ConditionFilters(row_filter.RowFilters):
    """The filters of a configuration; a row must meet all conditions of its table."""

    def __init__(self, settings: Sequence[FilterSettings]) -> None:
        """Read the conditions; raises ConfigError for one that cannot be evaluated here."""
        self._conditions: list[tuple[str, str, bool, exp.Expr]] = []
        for setting in settings:
            database, _, table = setting.tables.partition(".")
            try:
                tree = Condition.parse(setting.where).tree
                _require_evaluable(tree)
            except ConfigError as error:
                raise ConfigError(table_errors.FILTER, tables=setting.tables, why=error) from error
            self._conditions.append((database, table, setting.ignores_case, tree))

    def of(self, table: row_filter.FilteredTable) -> row_filter.RowFilter | None:
        """Return the filter of a column list; raises UnsupportedChange as `RowFilters.of`."""
        binding = FilterBinding(table)
        terms = [
            binding.truth(tree)
            for database, name, ignores_case, tree in self._conditions
            if is_named(table.database, table.name, database, name, ignores_case)
        ]
        return (
            row_filter.RowFilter(table, binding.indexes, filter_terms.every(terms))
            if terms
            else None
        )


def _require_evaluable(tree: exp.Expr) -> None:
    """Raise ConfigError for a tree that holds something else than comparisons, or is too deep."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, _ALLOWED) or (isinstance(node, exp.Neg) and not _is_number(node)):
            raise ConfigError(table_errors.CALCULATES)
        if isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower():
            raise ConfigError(table_errors.CALCULATES)
        if depth > _DEPTH_MAX:
            raise ConfigError(table_errors.DEPTH, limit=_DEPTH_MAX)
        for child in node.iter_expressions():
            is_chain = type(child) is type(node) and isinstance(node, (exp.And, exp.Or))
            waiting.append((child, depth if is_chain else depth + 1))


def _is_number(node: exp.Neg) -> bool:
    return isinstance(node.this, exp.Literal) and not node.this.is_string
