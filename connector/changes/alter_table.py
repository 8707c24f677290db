"""ALTER TABLE becomes its clauses.

::

    ALTER [ONLINE] [IGNORE] TABLE [IF EXISTS] [database.]name [WAIT n | NOWAIT]
        clause [, clause]… [PARTITION BY … | REMOVE PARTITIONING]

Several table options may follow each other without commas; they are one clause here.

https://dev.mysql.com/doc/refman/8.4/en/alter-table.html
https://mariadb.com/kb/en/alter-table/
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from connector.changes.tokens import open_parentheses

if TYPE_CHECKING:
    from connector.changes.tokens import Token

# After these words, before PARTITION, the rest of the statement belongs to the clause.
_OF_PARTITIONS: Final = ("ADD", "ANALYZE", "CHECK", "COALESCE", "OPTIMIZE", "REBUILD", "REORGANIZE")
_PARTITIONING: Final = "PARTITION"


def alter_clauses(tokens: list[Token]) -> list[list[Token]]:
    """Return the clauses of the statement `tokens`, each with at least one token.

    PARTITION BY and REMOVE PARTITIONING are the last clause.
    """
    body = tokens[first_clause(tokens) :]
    end = _partitioning(body)
    if len(body) > 1 and body[0].is_word(*_OF_PARTITIONS) and body[1].is_word(_PARTITIONING):
        return [body]
    clauses = split(body[:end])
    if end < len(body):
        clauses.append(body[end:])
    return clauses


def first_clause(tokens: list[Token]) -> int:
    """Return the index of the first token after the name of the table, and after WAIT."""
    end = len(tokens)
    index = next((n for n, token in enumerate(tokens, 1) if token.is_word("TABLE", "TABLES")), end)
    while index < end and tokens[index].is_word("IF", "EXISTS"):
        index += 1
    index += 1
    while index < end and tokens[index].text == ".":
        index += 2
    if index < end and tokens[index].is_word("NOWAIT"):
        index += 1
    elif index < end and tokens[index].is_word("WAIT"):
        index += 2
    return index


def split(tokens: list[Token]) -> list[list[Token]]:
    """Return the parts of `tokens` between commas outside parentheses, without empty ones."""
    parts: list[list[Token]] = [[]]
    for token, depth in zip(tokens, open_parentheses(tokens), strict=True):
        if depth == 0 and token.kind == "mark" and token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def after_parentheses(tokens: list[Token], start: int) -> int:
    """Return the index after the parentheses that open at `start`; `start` if none do."""
    for index, depth in enumerate(open_parentheses(tokens[start:]), start):
        if depth == 0:
            return index + 1 if index > start else start
    return len(tokens)


def skip_words(tokens: list[Token], start: int, *words: str) -> int:
    """Return the index of the first token from `start` on that is none of `words`."""
    while start < len(tokens) and tokens[start].is_word(*words):
        start += 1
    return start


def clause_name(clause: list[Token]) -> str:
    """Return the clause's words up to the first name, such as MODIFY COLUMN price."""
    words: list[str] = []
    for token in clause:
        if token.kind == "word" and token.text.upper() in _KEYWORDS:
            words.append(token.text.upper())
        elif token.is_name and words and words[-1] in _NAMED:
            words.append(token.name)
            break
        else:
            break
    return " ".join(words) or clause[0].text.upper()


# After these a name can follow.
_NAMED: Final = frozenset(
    {"COLUMN", "MODIFY", "CHANGE", "ADD", "DROP", "ALTER", "INDEX", "KEY", "EXISTS", "RENAME"}
    | {"CONSTRAINT"}
)
_KEYWORDS: Final = _NAMED | frozenset(
    {"IF", "NOT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONVERT", "TO", "CHARACTER", "SET"}
    | {"PARTITION", "SYSTEM", "VERSIONING", "PERIOD", "FOR", "ENGINE", "REPAIR", "BY", "REMOVE"}
    | {"PARTITIONING", "FORCE", "ORDER", "WITH", "REORGANIZE", "COALESCE", "REBUILD", "OPTIMIZE"}
    | {"COMMENT", "ALGORITHM", "LOCK", "DEFAULT", "CHARSET", "COLLATE", "ENABLE", "DISABLE", "KEYS"}
)


def _partitioning(tokens: list[Token]) -> int:
    """Return where PARTITION BY or REMOVE PARTITIONING begins; the end if nowhere."""
    depths = open_parentheses(tokens)
    for index, (token, following) in enumerate(pairwise(tokens)):
        if depths[index] == 0 and (
            (token.is_word(_PARTITIONING) and following.is_word("BY"))
            or (token.is_word("REMOVE") and following.is_word("PARTITIONING"))
        ):
            return index
    return len(tokens)
