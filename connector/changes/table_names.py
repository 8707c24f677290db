"""The names of tables in the tokens of a statement."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.changes.tokens import Token

# Database and table.
TableName = tuple[str, str]


def without_waiting(tokens: list[Token]) -> list[Token]:
    """Return RENAME TABLE without MariaDB's `WAIT n` and `NOWAIT` after names."""
    kept: list[Token] = []
    for token in tokens:
        if kept and kept[-1].is_word("WAIT") and token.text.isdigit():
            kept.pop()
        elif not (token.is_word("NOWAIT") and kept and kept[-1].is_name):
            kept.append(token)
    return kept


def _renames(token: Token, following: Token) -> bool:
    """Return whether ALTER TABLE continues with RENAME [TO|AS] name, not COLUMN, INDEX or KEY."""
    return token.is_word("RENAME") and not following.is_word("COLUMN", "INDEX", "KEY")


def other_tables(tokens: list[Token], *, by_rename: bool = False) -> list[TableName]:
    """Return the tables in clauses of ALTER TABLE: new names, and tables that partitions become.

    With `by_rename`, only new names.
    """
    names: list[TableName] = []
    for index, (token, following) in enumerate(pairwise(tokens), 1):
        start = index
        if _renames(token, following):
            while start < len(tokens) and (
                tokens[start].is_word("TO", "AS") or tokens[start].text == "="
            ):
                start += 1
        elif by_rename or not token.is_word("TABLE"):
            continue
        names += table_names(tokens, start)[:1]
    return names


def table_names(tokens: list[Token], start: int) -> list[TableName]:
    """Return the names in `[IF [NOT] EXISTS] name[.name] {, | TO} …` from `start` on."""
    names: list[TableName] = []
    parts: list[str] = []
    expects_name = True
    for token in tokens[start:]:
        if token.is_word("IF", "NOT", "EXISTS") and not parts:
            continue
        if token.kind == "mark" and token.text == ".":
            expects_name = True
        elif (token.kind == "mark" and token.text == ",") or token.is_word("TO"):
            _take_name(names, parts)
            expects_name = True
        elif expects_name and token.is_name:
            parts.append(token.name)
            expects_name = False
        else:
            break
    _take_name(names, parts)
    return names


def _take_name(names: list[TableName], parts: list[str]) -> None:
    if parts:
        names.append((parts[-2] if len(parts) > 1 else "", parts[-1]))
        parts.clear()
