"""Figures in tables of Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TIMES_WITH_A_DIGIT = 10


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a table: so many columns of text, and numbers behind them."""
    rules = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *rows))


def as_fast(ratio: float) -> str:
    """Return how many times as fast something is, for people."""
    number = f"{ratio:.1f}" if ratio < _TIMES_WITH_A_DIGIT else f"{ratio:,.0f}"
    return f"{number} x as fast"


def where(result: Mapping[str, Any]) -> str:
    """Return when and on what a result was measured, without a full stop."""
    mode = "compiled" if result["compiled"] else "interpreted"
    return (
        f"{result['at'][:10]}, {result['cpu']}, {result['cores']} cores, "
        f"{result['memory_gib']} GiB, Linux {result['kernel']}, {result['python']}; ours {mode}"
    )
