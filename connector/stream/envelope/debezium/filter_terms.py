"""The terms of a filter's condition: operators of SQL, each with a value for each row.

A value is a number (int or Decimal), a text (str), bytes, or True and False; None is NULL, and
unknown. All follow SQL's three-valued logic.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, final


class Term:
    """A part of a condition."""

    def value(self, row: Sequence[Any]) -> Any:
        """Return its value for a row, which has the values of the condition's columns."""
        raise NotImplementedError


@final
class Cell(Term):
    """A column."""

    def __init__(self, place: int) -> None:
        """Take the value at `place` of the row."""
        self._place = place

    def value(self, row: Sequence[Any]) -> Any:
        """Return the column's value."""
        return row[self._place]


@final
class Constant(Term):
    """A value that is the same for each row."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self, row: Sequence[Any]) -> Any:
        del row
        return self._value


# What a comparison accepts: the left value below, equal to or above the right one.
BELOW: Final = 1
EQUAL: Final = 2
ABOVE: Final = 4


@final
class Comparison(Term):
    """`=`, `<>`, `<`, `<=`, `>` and `>=`; both sides have values of one kind."""

    def __init__(self, accepted: int, left: Term, right: Term) -> None:
        """Accept some of BELOW, EQUAL and ABOVE."""
        self._accepted = accepted
        self._left = left
        self._right = right

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether the order of both sides is accepted."""
        left = self._left.value(row)
        right = self._right.value(row)
        if left is None or right is None:
            return None
        order = EQUAL if left == right else BELOW if left < right else ABOVE
        return self._accepted & order != 0


@final
class SameOrBothNull(Term):
    """`<=>`."""

    def __init__(self, left: Term, right: Term) -> None:
        """Compare two sides, whose values are of one kind."""
        self._left = left
        self._right = right

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether both sides are equal, or both are NULL."""
        left = self._left.value(row)
        right = self._right.value(row)
        if left is None or right is None:
            return left is None and right is None
        return left == right


@final
class IsNull(Term):
    """`IS NULL`."""

    def __init__(self, of: Term) -> None:
        self._of = of

    def value(self, row: Sequence[Any]) -> Any:
        return self._of.value(row) is None


@final
class IsTruth(Term):
    """`IS TRUE` and `IS FALSE`."""

    def __init__(self, of: Term, wanted: bool) -> None:
        """Look for one truth of a term; unknown is neither."""
        self._of = of
        self._wanted = wanted

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether the term has this truth."""
        value = self._of.value(row)
        return value is not None and bool(value) == self._wanted


@final
class In(Term):
    """`IN`."""

    def __init__(self, of: Term, listed: list[Term]) -> None:
        """Look a term up in a list; all have values of one kind."""
        self._of = of
        self._listed = listed

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether it is in the list; None if that is not known because of a NULL."""
        wanted = self._of.value(row)
        if wanted is None:
            return None
        truth: Any = False
        for term in self._listed:
            value = term.value(row)
            if value is None:
                truth = None
            elif value == wanted:
                return True
        return truth


@final
class Like(Term):
    """`LIKE` with a constant pattern."""

    def __init__(self, of: Term, pattern: str, escape: str = "") -> None:
        """Match whole texts: `%` stands for any characters, `_` for one, `escape` for the next."""
        self._of = of
        self._pattern = re.compile(_expression(pattern, escape), re.DOTALL)

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether the text matches."""
        text = self._of.value(row)
        return None if text is None else self._pattern.fullmatch(text) is not None


def _expression(pattern: str, escape: str) -> str:
    parts = []
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            # At the end of a pattern, it stands for itself.
            parts.append(re.escape(next(characters, escape)))
        elif character == "%":
            parts.append(".*")
        else:
            parts.append("." if character == "_" else re.escape(character))
    return "".join(parts)


@final
class Not(Term):
    """`NOT`."""

    def __init__(self, of: Term) -> None:
        self._of = of

    def value(self, row: Sequence[Any]) -> Any:
        """Return the opposite; unknown stays unknown."""
        value = self._of.value(row)
        return None if value is None else not value


@final
class Chain(Term):
    """`AND` and `OR` of any number of terms."""

    def __init__(self, terms: list[Term], decides: bool) -> None:
        """Ask the terms in their order; one that `decides` is the whole: False for AND."""
        self._terms = terms
        self._decides = decides

    def value(self, row: Sequence[Any]) -> Any:
        """Return what decides if a term is that, else None if one is unknown, else the opposite."""
        truth: Any = not self._decides
        for term in self._terms:
            value = term.value(row)
            if value is None:
                truth = None
            elif bool(value) == self._decides:
                return self._decides
        return truth


def every(terms: list[Term]) -> Chain:
    """Return `AND` of terms."""
    return Chain(terms, decides=False)


def some(terms: list[Term]) -> Chain:
    """Return `OR` of terms."""
    return Chain(terms, decides=True)


@final
class Xor(Term):
    """`XOR`."""

    def __init__(self, left: Term, right: Term) -> None:
        self._left = left
        self._right = right

    def value(self, row: Sequence[Any]) -> Any:
        """Return whether exactly one is true; None if one is unknown."""
        left = self._left.value(row)
        right = self._right.value(row)
        return None if left is None or right is None else bool(left) != bool(right)
