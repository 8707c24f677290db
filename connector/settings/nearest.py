"""What somebody may have meant who wrote a word that is not known."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# How alike two words are, as difflib counts it: `snapoot` is as near to `snapshot` as 0.8.
_NEAR = 0.75


def nearest(word: str, known: Iterable[str], near: float = _NEAR) -> str | None:
    """Return the known word that is most like `word`; None if none is as `near`, of 0 to 1."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=near)), None)
