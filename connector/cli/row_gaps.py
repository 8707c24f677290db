"""Shows what would not arrive as rows: a paragraph for each rule, with at most a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from connector.errors.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from connector.errors.message import Message
    from connector.source.checks.row_gap import RowGap

_SHOWN_MAX: Final = 5
_TITLE: Final = "Changes of followed tables that would not arrive as whole rows:"
_NOTHING: Final = (
    "Nothing was found that keeps changes of followed tables from arriving as whole rows."
)


def show_row_gaps(console: Console, gaps: Sequence[RowGap], not_seen: Message) -> None:
    """Show each gap, and what cannot be seen."""
    _print(console, Text(_TITLE if any(gap.rule for gap in gaps) else _NOTHING, style="bold"))
    for gap in gaps:
        count = len(gap.places)
        rule = Text(f"{gap.rule}: " if gap.rule else "", style="bold yellow")
        _print(console, rule + Text(f"[{gap.problem.shown_code}] {gap.problem.what}"))
        shown = [(visible(name), visible(detail)) for name, detail in gap.places[:_SHOWN_MAX]]
        width = max((len(name) for name, _ in shown), default=0)
        for name, detail in shown:
            _print(console, Text(f"  {name:<{width}}  {detail}".rstrip()))
        if count > len(shown):
            _print(console, Text(f"  {count - len(shown):,} more of {count:,}"))
        if gap.problem.fix:
            _print(console, Text(f"  {gap.problem.fix}", style="green"))
    _print(console, Text(f"[{not_seen.shown_code}] {not_seen.text}", style="dim"))


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)
