"""Debezium's regular expressions become patterns with `*`, `?` and `[...]`, or an error.

An expression of Debezium has to match a whole name such as `database.table`. Names have no dots of
their own here, so an unescaped dot is either the one between database and table, or one character.
Each of these meanings gives a pattern; together they match the same names. What is left is refused:
a repeated group, for example, or a look-ahead.

Debezium does not distinguish the case of letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# More patterns than this are no list that somebody reads.
_PATTERNS_MAX: Final = 200
_REPEATED_MAX: Final = 32
_TOO_MANY: Final = f"more than {_PATTERNS_MAX} patterns"
_NO_NAME: Final = "it matches no name"
_AFTER_OTHERS: Final = " after anything but a dot"
_SHORT: Final = {"d": "[0-9]", "w": "[a-zA-Z0-9_]"}
# Tokens of a pattern beside characters and classes.
_DOT, _ALL = "\\.", "*"


class Inexpressible(Exception):
    """No list of patterns means the same; the text says which part has no counterpart."""


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, count: int = 1) -> str:
        taken = self.text[self.at : self.at + count]
        self.at += count
        return taken


def split_list(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a list; an escaped separator belongs to its part."""
    parts = re.split(rf"(?<!\\){separator}", text)
    return [part.strip().replace(f"\\{separator}", separator) for part in parts if part.strip()]


def patterns(expression: str, parts: int) -> list[str]:
    """Return patterns for names of so many `parts`, with dots between them.

    Raises Inexpressible if no patterns match exactly the same names.
    """
    found: dict[str, None] = {}
    reader = _Reader(expression.removeprefix("^").removesuffix("$"))
    for tokens in _alternatives(reader):
        for divided in _divided(tokens, parts):
            found[".".join(divided)] = None
            if len(found) > _PATTERNS_MAX:
                raise Inexpressible(_TOO_MANY)
    if reader.at < len(reader.text):
        raise Inexpressible(reader.text[reader.at :])
    if not found:
        raise Inexpressible(_NO_NAME)
    return list(found)


def _alternatives(reader: _Reader) -> list[list[str]]:
    """Return the tokens of each alternative up to the end of a group."""
    found: list[list[str]] = []
    current: list[list[str]] = [[]]
    while reader.peek() not in ("", ")"):
        if reader.peek() == "|":
            reader.take()
            found += current
            current = [[]]
            continue
        piece = _repeated(reader, _piece(reader))
        current = [before + after for before, after in product(current, piece)]
        if len(current) > _PATTERNS_MAX:
            raise Inexpressible(_TOO_MANY)
    return found + current


def _piece(reader: _Reader) -> list[list[str]]:
    """Return the alternatives of one character, class or group."""
    rest = reader.text[reader.at :]
    character = reader.take()
    if character == "(":
        if reader.peek() == "?":
            if reader.text[reader.at : reader.at + 2] != "?:":
                raise Inexpressible(rest[:3])
            reader.take(2)
        inside = _alternatives(reader)
        if reader.take() != ")":
            raise Inexpressible(rest)
        return inside
    if character == "[":
        return [[_class(reader, rest)]]
    if character == ".":
        return [["."]]
    if character == "\\":
        return [[_escaped(reader.take(), rest)]]
    if character in "*+?{}^$":
        raise Inexpressible(rest)
    return [[character]]


def _class(reader: _Reader, rest: str) -> str:
    found = re.match(r"\[(\^?)([^\[\]\\&^]+)\]", rest)
    if found is None:
        raise Inexpressible(rest)
    reader.at += found.end() - 1
    return f"[{'!' if found[1] else ''}{found[2]}]"


def _escaped(character: str, rest: str) -> str:
    if character == ".":
        return _DOT
    if character in _SHORT:
        return _SHORT[character]
    if not character or character.isalnum():
        raise Inexpressible(rest[:2])
    # A pattern has no other way to write these.
    return f"[{character}]" if character in "*?[" else character


def _repeated(reader: _Reader, piece: list[list[str]]) -> list[list[str]]:
    """Return the alternatives of a piece with what follows it: `*`, `+`, `?` or `{n}`."""
    rest = reader.text[reader.at :]
    if found := re.match(r"\{(\d+)\}", rest):
        reader.take(found.end())
        count = int(found[1])
        if count > _REPEATED_MAX or len(piece) > 1:
            raise Inexpressible(found[0])
        return [piece[0] * count]
    mark = reader.peek()
    if mark not in ("*", "+", "?"):
        return piece
    reader.take()
    if reader.peek() == "+":
        raise Inexpressible(rest[:2])
    if reader.peek() == "?":
        # Which part matches how much does not change which names match as a whole.
        reader.take()
    if mark == "?":
        return [*piece, []]
    if piece != [["."]]:
        raise Inexpressible(mark + _AFTER_OTHERS)
    return [[_ALL]] if mark == "*" else [[".", _ALL]]


def _divided(tokens: list[str], parts: int) -> Iterator[list[str]]:
    """Yield the patterns of the parts, for each token that can be a dot between them."""
    if parts == 1:
        if tokens and _DOT not in tokens:
            yield [_joined(tokens)]
        return
    for at, token in enumerate(tokens):
        if token not in (_DOT, ".", _ALL):
            continue
        kept = [_ALL] if token == _ALL else []
        left = tokens[:at] + kept
        if left:
            for rest in _divided(kept + tokens[at + 1 :], parts - 1):
                yield [_joined(left), *rest]
        if token == _DOT:
            return


def _joined(tokens: list[str]) -> str:
    return re.sub(r"\*+", "*", "".join("?" if each == "." else each for each in tokens))
