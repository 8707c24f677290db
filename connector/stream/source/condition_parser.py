"""Parses a user's condition for a copy or a filter into a tree that can only select rows.

The text is never sent to the server. Each token is checked, the rest is parsed, and
`condition_printer` prints the tree again. Lists say what is allowed: symbols, operators,
functions, kinds of nodes. A name that is no operator and no function can only be a column, so a
word such as SELECT has no meaning here.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Self

from sqlglot.dialects.mysql import MySQL
from sqlglot.expressions import Condition as AnyCondition
from sqlglot.expressions import Expr
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from connector.stream.source import CONDITION_CHARACTERS_MAX, CONDITION_DEPTH_MAX, table_errors
from connector.stream.source.condition_printer import FUNCTIONS, ConditionPrinter, refuse

_SYMBOLS = frozenset("(),.=<>+-*/%&|^") | {"<=>", "<>", "!=", "<=", ">=", "&&"}
_KEYWORDS = frozenset(
    {"AND", "OR", "XOR", "NOT", "IS", "NULL", "IN", "BETWEEN", "LIKE", "ESCAPE", "DIV", "MOD"}
    | {"TRUE", "FALSE"}
)
_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING})
_WORDS = _LITERALS | {TokenType.IDENTIFIER, TokenType.VAR}
_PREFIXES = frozenset({"NOT", "-", "+"})
_WORD = re.compile(r"[^\W\d][\w$]*")
# A condition may not have control characters, except those that separate words.
_CONTROL = re.compile(r"[^\S \t\r\n]|[\x00-\x08\x0e-\x1f\x7f]|[\ud800-\udfff]")
_SHOWN_CHARACTERS = 20


class _Parser(MySQLParser):
    """Keeps the names of functions: the printer knows which are allowed."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {}


class Condition:
    """One boolean expression over the columns of a table."""

    def __init__(self, tree: Expr) -> None:
        """Take a tree that `parse` has checked; it groups as MySQL does."""
        self.tree = tree

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a condition as MySQL writes it.

        Raises ConfigError for anything else; docs/snapshot.md says what a condition may hold.
        """
        tokens = _checked_tokens(text)
        tree = _parsed(text, tokens)
        # The columns are checked later, when the table is known.
        printer = ConditionPrinter(None)
        printer.whole(tree)
        # The parser leaves nothing out, and adds no groups that the text does not have.
        if printer.words != sum(token.token_type in _WORDS for token in tokens):
            refuse(table_errors.NOT_ONE)
        if printer.parentheses != sum(token.token_type is TokenType.L_PAREN for token in tokens):
            refuse(table_errors.TWO_WAYS)
        return cls(tree)

    def sql(
        self, database: str, table: str, columns: Sequence[str], hidden: Sequence[str] = ()
    ) -> str:
        """Return the SQL to put after WHERE, for a table that has `columns`.

        The text means the same in MySQL and MariaDB, and in each sql_mode. Raises ConfigError for a
        column that the table does not have, or that is `hidden`.
        """
        return ConditionPrinter((database, table, columns, hidden)).whole(self.tree)


def _checked_tokens(text: str) -> list[Token]:
    """Return the tokens; names that are neither operators nor functions are quoted."""
    if len(text) > CONDITION_CHARACTERS_MAX:
        refuse(table_errors.LENGTH, length=len(text), limit=CONDITION_CHARACTERS_MAX)
    if "\\" in text:
        refuse(table_errors.BACKSLASH)
    if _CONTROL.search(text):
        refuse(table_errors.CONTROL)
    try:
        tokens = MySQL().tokenize(text)
    except Exception:  # noqa: BLE001 - any error of the library
        refuse(table_errors.QUOTES)
    if not tokens:
        refuse(table_errors.EMPTY)
    end = 0
    depth = _Depth()
    for index, token in enumerate(tokens):
        if text[end : token.start].strip() or token.comments:
            refuse(table_errors.COMMENT)
        end = token.end + 1
        written = text[token.start : end]
        following = tokens[index + 1].start if index + 1 < len(tokens) else len(text)
        called = text[end : following + 1].strip() == "("
        tokens[index] = _checked_token(token, written, called=called)
        depth.take(written.upper())
    if text[end:].strip():
        refuse(table_errors.COMMENT)
    return tokens


def _checked_token(token: Token, written: str, *, called: bool) -> Token:
    """Return a token that can have only the meaning that the parser will give it."""
    if token.token_type is TokenType.HEX_STRING and written.startswith("0"):
        # It is a number to one server, and a string to the other.
        refuse(table_errors.HEXADECIMAL, word=_shortened(written))
    if written in _SYMBOLS or token.token_type in _LITERALS:
        return token
    if token.token_type is TokenType.IDENTIFIER:
        if called:
            refuse(table_errors.FUNCTION, word=_shortened(written))
        return token
    if not _WORD.fullmatch(written):
        refuse(table_errors.WORD, word=_shortened(written))
    word = written.upper()
    if word in _KEYWORDS:
        return token
    if called and word not in FUNCTIONS:
        refuse(table_errors.FUNCTION, word=_shortened(written))
    kind = TokenType.VAR if called else TokenType.IDENTIFIER
    return Token(kind, written, token.line, token.col, token.start, token.end)


class _Depth:
    """Counts open parentheses, and operators before their operand."""

    def __init__(self) -> None:
        self._open: list[int] = []
        self._depth = 0
        self._prefixes = 0

    def take(self, written: str) -> None:
        """Count a token; raises ConfigError beyond `CONDITION_DEPTH_MAX`."""
        if written in _PREFIXES:
            self._prefixes += 1
        else:
            if written == "(":
                self._open.append(self._prefixes + 1)
                self._depth += self._prefixes + 1
            elif written == ")":
                if not self._open:
                    refuse(table_errors.CLOSES)
                self._depth -= self._open.pop()
            self._prefixes = 0
        if self._depth + self._prefixes > CONDITION_DEPTH_MAX:
            refuse(table_errors.DEPTH, limit=CONDITION_DEPTH_MAX)


def _parsed(text: str, tokens: list[Token]) -> Expr:
    try:
        (tree,) = _Parser(dialect=MySQL()).parse_into(AnyCondition, tokens, text)
    except Exception:  # noqa: BLE001 - any error of the library
        refuse(table_errors.NOT_ONE)
    if tree is None:
        refuse(table_errors.EMPTY)
    return tree


def _shortened(written: str) -> str:
    return written if len(written) <= _SHOWN_CHARACTERS else f"{written[:_SHOWN_CHARACTERS]}…"
