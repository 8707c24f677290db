"""The text of a statement becomes its words, identifiers, strings and marks.

https://dev.mysql.com/doc/refman/8.4/en/language-structure.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

# Version comments (`/*! … */`, MariaDB `/*M! … */`) are code; their markers are dropped and their
# content stays. `#` and `-- ` comments and plain block comments are dropped whole.
_PATTERN: Final = r"""
    (?P<space>\s+|\#[^\n]*|--(?=\s|$)[^\n]*|/\*M?!\d*|\*/|/\*.*?\*/)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<string>[xXbB]?'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<word>\d+\.\d+(?![A-Za-z_$])|[A-Za-z0-9_$@\u0080-\U0010ffff]+)
  | (?P<mark>.)
    """


@dataclass(slots=True)
class Token:
    """One word, identifier, string or mark of a statement."""

    text: str  # as written; identifiers without their backticks
    kind: str  # "word", "quoted", "string" or "mark"

    @property
    def is_name(self) -> bool:
        """Whether this can name a table: a word, `quoted`, or "quoted" under ANSI_QUOTES."""
        return self.kind in ("word", "quoted") or self.text.startswith('"')

    @property
    def name(self) -> str:
        """The identifier without quotes of any kind."""
        if self.kind == "string":
            return self.text[1:-1].replace('""', '"')
        return self.text

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of the unquoted `words` (upper case)."""
        return self.kind == "word" and self.text.upper() in words


@cache
def _token() -> re.Pattern[str]:
    """Return what finds tokens; to compile it takes longer than to read a short log."""
    return re.compile(_PATTERN, re.VERBOSE | re.DOTALL)


def tokenize(query: str) -> list[Token]:
    """Return the tokens of `query` without comments and white space.

    A `database.table` without quotes becomes three tokens, like a quoted one.
    """
    tokens: list[Token] = []
    for match in _token().finditer(query):
        kind = match.lastgroup or "mark"
        text = match.group()
        if kind == "space":
            continue
        if kind == "quoted":
            text = text[1:-1].replace("``", "`")
        tokens.append(Token(text, kind))
    return tokens


def open_parentheses(tokens: list[Token]) -> list[int]:
    """Return for each token how many parentheses are open after it."""
    depth = 0
    depths: list[int] = []
    for token in tokens:
        if token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        depths.append(depth)
    return depths
