"""Prints the tree of a condition as SQL, and refuses everything unknown.

Each operator is printed with parentheses around it, so no reader can group it in another way. The
tree must group as MySQL does: a `_Rule` says which operands MySQL's grammar allows without
parentheses (`expr`, `bool_pri`, `predicate`, `bit_expr` and `simple_expr` of its sql_yacc.yy). A
tree that differs is refused.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

from sqlglot import expressions as exp

from connector.binlog.sql_text import quoted_identifier, sql_text
from connector.foundation.errors import ConfigError
from connector.foundation.errors.code import ErrorCode
from connector.stream.source import table_errors

# Database, name, the columns that a condition may read, and the others.
Table: TypeAlias = tuple[str, str, Sequence[str], Sequence[str]]

# Functions that both servers have in each version, that always return the same for the same row,
# and that need no more memory than their arguments.
FUNCTIONS: Final = frozenset(
    "ABS CEIL CEILING FLOOR ROUND SIGN GREATEST LEAST COALESCE "  # noqa: SIM905 - 57 lines else
    "IF IFNULL NULLIF LOWER LCASE UPPER UCASE TRIM LTRIM RTRIM LEFT RIGHT SUBSTR SUBSTRING "
    "CHAR_LENGTH LENGTH OCTET_LENGTH CONCAT LOCATE INSTR REVERSE HEX CRC32 MD5 SHA1 STRCMP FIELD "
    "FIND_IN_SET DATE YEAR QUARTER MONTH DAY HOUR MINUTE SECOND TO_DAYS TO_SECONDS DAYOFMONTH "
    "DAYOFWEEK DAYOFYEAR WEEKDAY DATEDIFF UNIX_TIMESTAMP JSON_EXTRACT JSON_UNQUOTE".split()
)
# The printer calls itself for each level of a tree; a chain of operators of one level is one.
LEVELS_MAX: Final = 150


class _Rule(NamedTuple):
    """How an operator is written, and the lowest level of its operands."""

    sql: str
    level: int
    left: int
    right: int


# Levels of MySQL's grammar, the loosest first.
_EXPR, _XOR, _AND, _NOT, _TRUTH, _BOOL_PRI, _PREDICATE = range(1, 8)
_BIT_EXPR, _BIT_AND, _SUM, _PRODUCT, _BIT_XOR, _SIMPLE = range(8, 14)

_BINARY: Final[dict[type[exp.Expr], _Rule]] = {
    exp.Or: _Rule("OR", _EXPR, _EXPR, _XOR),
    exp.Xor: _Rule("XOR", _XOR, _XOR, _AND),
    exp.And: _Rule("AND", _AND, _AND, _NOT),
    exp.EQ: _Rule("=", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.NullSafeEQ: _Rule("<=>", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.NEQ: _Rule("<>", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.LT: _Rule("<", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.LTE: _Rule("<=", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.GT: _Rule(">", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.GTE: _Rule(">=", _BOOL_PRI, _BOOL_PRI, _PREDICATE),
    exp.BitwiseOr: _Rule("|", _BIT_EXPR, _BIT_EXPR, _BIT_AND),
    exp.BitwiseAnd: _Rule("&", _BIT_AND, _BIT_AND, _SUM),
    exp.Add: _Rule("+", _SUM, _SUM, _PRODUCT),
    exp.Sub: _Rule("-", _SUM, _SUM, _PRODUCT),
    exp.Mul: _Rule("*", _PRODUCT, _PRODUCT, _BIT_XOR),
    exp.Div: _Rule("/", _PRODUCT, _PRODUCT, _BIT_XOR),
    exp.IntDiv: _Rule("DIV", _PRODUCT, _PRODUCT, _BIT_XOR),
    exp.Mod: _Rule("%", _PRODUCT, _PRODUCT, _BIT_XOR),
    exp.BitwiseXor: _Rule("^", _BIT_XOR, _BIT_XOR, _SIMPLE),
}
_LEVELS: Final[dict[type[exp.Expr], int]] = {
    **{kind: rule.level for kind, rule in _BINARY.items()},
    exp.Not: _NOT,
    exp.In: _PREDICATE,
    exp.Between: _PREDICATE,
    exp.Like: _PREDICATE,
    exp.Escape: _PREDICATE,
}
# The parser's notes on a division, which do not matter for MySQL.
_NOTES: Final[dict[type[exp.Expr], frozenset[str]]] = {exp.Div: frozenset({"typed", "safe"})}

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_HEX = re.compile(r"([0-9A-Fa-f]{2})*")
# Characters that stay as they are between quotes, for any character set and sql_mode.
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")


def refuse(code: ErrorCode, **facts: object) -> NoReturn:
    """Raise ConfigError: the condition is refused."""
    raise ConfigError(code, **facts)


class ConditionPrinter:
    """Prints trees, with the columns of one table."""

    def __init__(self, table: Table | None) -> None:
        """Print for `table`; with None, every column is accepted."""
        self._table = table
        # The number of printed names, functions and constants, and of parentheses in the tree.
        self.words = 0
        self.parentheses = 0
        self._level = 0

    def whole(self, tree: exp.Expr) -> str:
        """Return the SQL of a condition. Raises ConfigError for a tree that is not allowed."""
        return self._text(tree, _EXPR)

    def _text(self, node: exp.Expr, least: int) -> str:
        """Return the SQL of a node, for a position where the grammar needs at least a level."""
        if _level(node) < least:
            refuse(table_errors.TWO_WAYS)
        self._level += 1
        if self._level > LEVELS_MAX:
            refuse(table_errors.DEPTH, limit=LEVELS_MAX)
        printed = self._node(node)
        self._level -= 1
        return printed

    def _node(self, node: exp.Expr) -> str:
        rule = _BINARY.get(type(node))
        if rule is not None:
            return f"({self._chain(node, rule.level)})"
        if isinstance(node, exp.Paren):
            self.parentheses += 1
            return self._text(_parts(node, "this")[0], _EXPR)
        if isinstance(node, exp.Not):
            return f"(NOT {self._text(_parts(node, 'this')[0], _NOT)})"
        if isinstance(node, exp.Neg):
            return f"(- {self._text(_parts(node, 'this')[0], _SIMPLE)})"
        if isinstance(node, (exp.Is, exp.In, exp.Between, exp.Like, exp.Escape)):
            return self._predicate(node)
        if isinstance(node, exp.Anonymous):
            return self._call(node)
        if isinstance(node, exp.Column):
            return self._column(node)
        return self._constant(node)

    def _chain(self, node: exp.Expr, level: int) -> str:
        """Return operators of one level, from left to right; a long list of OR is no deep tree."""
        parts: list[str] = []
        while True:
            rule = _BINARY.get(type(node))
            if rule is None or rule.level != level:
                parts.append(self._text(node, level))
                return " ".join(reversed(parts))
            left, right = _parts(node, "this", "expression")
            parts += (self._text(right, rule.right), rule.sql)
            node = left

    def _predicate(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Is):
            left, right = _parts(node, "this", "expression")
            if not isinstance(right, (exp.Null, exp.Boolean)):
                refuse(table_errors.IS_OTHER)
            return f"({self._text(left, _BOOL_PRI)} IS {self._constant(right)})"
        if isinstance(node, exp.In):
            _require(node, "this", "expressions")
            self.parentheses += 1
            listed = ", ".join(self._text(expression, _EXPR) for expression in node.expressions)
            return f"({self._text(node.this, _BIT_EXPR)} IN ({listed}))"
        if isinstance(node, exp.Between):
            value, low, high = _parts(node, "this", "low", "high")
            return (
                f"({self._text(value, _BIT_EXPR)} BETWEEN {self._text(low, _BIT_EXPR)} AND "
                f"{self._text(high, _PREDICATE)})"
            )
        escape = ""
        if isinstance(node, exp.Escape):
            node, sign = _parts(node, "this", "expression")
            if not isinstance(node, exp.Like) or not (
                isinstance(sign, exp.Literal)
                and sign.is_string
                and len(sign.name) == 1
                and _PLAIN.fullmatch(sign.name)
            ):
                refuse(table_errors.ESCAPE)
            escape = f" ESCAPE {self._constant(sign)}"
        negated = bool(node.args.get("negate"))
        value, pattern = _parts(node, "this", "expression", *["negate"] * negated)
        like = "NOT LIKE" if negated else "LIKE"
        return f"({self._text(value, _BIT_EXPR)} {like} {self._text(pattern, _SIMPLE)}{escape})"

    def _call(self, node: exp.Anonymous) -> str:
        _require(node, "this", "expressions")
        self.words += 1
        self.parentheses += 1
        name = node.name.upper()
        if name not in FUNCTIONS:
            refuse(table_errors.UNKNOWN_FUNCTION)
        return f"{name}({', '.join(self._text(each, _EXPR) for each in node.expressions)})"

    def _column(self, node: exp.Column) -> str:
        for part in node.parts:
            if not isinstance(part, exp.Identifier):
                refuse(table_errors.STAR)
        _require(node, "this", *filter(node.args.get, ("table", "db")))
        self.words += len(node.parts)
        if self._table is None:
            return quoted_identifier(node.name)
        database, table, columns, hidden = self._table
        if (node.table or table).lower() != table.lower() or (
            node.db or database
        ).lower() != database.lower():
            refuse(table_errors.OTHER_TABLE, table=f"{database}.{table}")
        name = _named(node.name, columns)
        if name is None:
            known = _named(node.name, hidden) is not None
            code = table_errors.HIDDEN_COLUMN if known else table_errors.CONDITION_NO_COLUMN
            refuse(code, table=f"{database}.{table}", column=node.name)
        return quoted_identifier(name)

    def _constant(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Null):
            return "NULL"
        if isinstance(node, exp.Boolean):
            return "TRUE" if node.this else "FALSE"
        self.words += 1
        if isinstance(node, exp.HexString) and _HEX.fullmatch(node.name):
            return f"X'{node.name}'"
        if isinstance(node, exp.Literal):
            if not node.is_string and _NUMBER.fullmatch(node.name):
                return node.name
            if node.is_string:
                return f"'{node.name}'" if _PLAIN.fullmatch(node.name) else sql_text(node.name)
        refuse(table_errors.OTHER)


def _named(name: str, columns: Sequence[str]) -> str | None:
    """Return the column with a name, or with one that differs only in case."""
    if name in columns:
        return name
    return next((column for column in columns if column.lower() == name.lower()), None)


def _level(node: exp.Expr) -> int:
    if isinstance(node, exp.Is):
        return _BOOL_PRI if isinstance(node.expression, exp.Null) else _TRUTH
    return _LEVELS.get(type(node), _SIMPLE)


def _parts(node: exp.Expr, *names: str) -> list[exp.Expr]:
    """Return these parts of a node; it must have no others."""
    _require(node, *names)
    parts = [node.args[name] for name in names if name != "negate"]
    if not all(isinstance(part, exp.Expr) for part in parts):
        refuse(table_errors.OTHER)
    return parts


def _require(node: exp.Expr, *names: str) -> None:
    """Raise if a node lacks a part, or has one that would not be printed."""
    has = {name for name, part in node.args.items() if part}
    if has - _NOTES.get(type(node), frozenset()) != set(names):
        refuse(table_errors.OTHER)
