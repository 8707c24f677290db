"""Finds the known word that a misspelt word probably means."""

from collections.abc import Iterable

# The least similarity, as difflib counts it: `snapoot` is as near to `snapshot` as 0.8.
_NEAR = 0.75


def nearest(word: str, known: Iterable[str], near: float = _NEAR) -> str | None:
    """Return the known word most like `word`; None if the similarity (0 to 1) is below `near`."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for a wrong word

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=near)), None)
