"""The line of a batch for people: its size, its time, and the lag after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

# A batch that takes longer says where the time went.
_SLOW_SECONDS: Final = 5.0
# A lag above this is no longer the time of a batch.
_LAG_SECONDS: Final = 60.0
_MINUTE: Final = 60
_HOUR: Final = 3600


def batch_line(fields: Mapping[str, Any], width: int) -> Text | None:
    """Return the line of `batch_applied` or `retried`; None if it had no change.

    The words are in columns if `width` characters are enough for them.
    """
    tables = {name: each for name, each in fields["tables"].items() if each["changes"]}
    changes = sum(each["changes"] for each in tables.values())
    if not changes:
        return None
    seconds = fields["seconds"]
    rate = changes / max(seconds, 0.001)
    columns = (
        f"batch {fields['batch_id']}".ljust(9) if "batch_id" in fields else "resuming ",
        f"{changes:>7,} {'change ' if changes == 1 else 'changes'}",
        f"{len(tables):>3} {'table ' if len(tables) == 1 else 'tables'}",
        f"{seconds:>5.2f} s",
        f"{rate:>7,.0f}/s",
    )
    lag = _lag(tables)
    line = Text("  ".join(columns))
    if line.cell_len + 2 + lag.cell_len > width:
        line = Text("  ".join(" ".join(column.split()) for column in columns))
    line.append("  ").append(lag)
    if seconds > _SLOW_SECONDS and "phases" in fields:
        phases = (f"{name} {spent:.1f} s" for name, spent in fields["phases"].items())
        line.append(f"  ({', '.join(phases)})", "dim")
    elif len(tables) == 1:
        name = Text(f"  {next(iter(tables))}", "dim")
        if line.cell_len + name.cell_len <= width:
            line.append(name)
    return line


def duration(seconds: float) -> str:
    """Return a time in words, with two figures that matter."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"


def _lag(tables: Mapping[str, Mapping[str, Any]]) -> Text:
    """Return the lag of the table that has most."""
    known = [each["lag_seconds"] for each in tables.values() if each["lag_seconds"] is not None]
    if not known:
        return Text("nothing applied")
    lag = max(known)
    return Text(f"lag {duration(lag)}", "yellow" if lag > _LAG_SECONDS else "")
