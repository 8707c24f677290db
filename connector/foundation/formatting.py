"""Formats numbers, times and names for people."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s"))
_FEW = 10
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000
_GTID_CHARACTERS_MAX = 120
_TABLES_SHOWN_MAX = 3
_NAMES_SHOWN_MAX = 3


def duration(seconds: float) -> str:
    """Return a time span with its two largest units: 4 min 10 s."""
    if seconds < _FEW:
        return f"{seconds:.1f} s"
    for (unit, of), (smaller, part) in pairwise(_UNITS):
        if seconds >= unit:
            rest = int(seconds % unit // smaller)
            return f"{int(seconds // unit)} {of}" + (f" {rest} {part}" if rest else "")
    return f"{seconds:.0f} s"


def size(count: float) -> str:
    """Return a number of bytes with three digits: 12.3 MB."""
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_BYTES) - 1:
        value /= _STEP
        unit += 1
    decimals = 0 if unit == 0 else _decimals(value)
    return f"{value:,.{decimals}f} {_BYTES[unit]}"


def number(count: float) -> str:
    """Return a number with commas; a small one with its fraction."""
    return f"{count:,.1f}" if 0 < count < _FEW and count != int(count) else f"{count:,.0f}"


def amount(count: int, noun: str) -> str:
    """Return how many of a thing there are: 1 table, 2 tables."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _NAMES_SHOWN_MAX
    return ", ".join(names[:_NAMES_SHOWN_MAX]) + (f" and {more:,} more" if more > 0 else "")


def when(at: float) -> str:
    """Return a time in UTC, to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def clock(at: float, now: float) -> str:
    """Return a time in UTC: of today without the date."""
    shown = datetime.fromtimestamp(at, UTC)
    today = datetime.fromtimestamp(now, UTC).date() == shown.date()
    return f"{shown:%H:%M:%S}" if today else f"{shown:%Y-%m-%d %H:%M:%S}"


def abbreviated(gtid_set: str | None) -> str | None:
    """Return a GTID set that fits into a line: its first members, and how many more there are."""
    if gtid_set is None or len(gtid_set) <= _GTID_CHARACTERS_MAX:
        return gtid_set
    members = gtid_set.split(",")
    kept: list[str] = []
    for member in members:
        if kept and len(",".join([*kept, member])) > _GTID_CHARACTERS_MAX:
            break
        kept.append(_shortened(member))
    more = len(members) - len(kept)
    return ",".join(kept) + (f", … {more} more" if more else "")


def _shortened(member: str) -> str:
    """Return a member with its last interval, and of those before it what fits."""
    if len(member) <= _GTID_CHARACTERS_MAX:
        return member
    last = member.rpartition(":")[2]
    return f"{member[: _GTID_CHARACTERS_MAX - len(last)].rpartition(':')[0]}:…:{last}"


def busiest_tables(tables: Mapping[str, int]) -> str:
    """Return the tables with most records, with how many."""
    busiest = sorted(tables.items(), key=lambda item: (-item[1], item[0]))[:_TABLES_SHOWN_MAX]
    more = len(tables) - len(busiest)
    shown = ", ".join(f"{table} ({count})" for table, count in busiest)
    return shown + (f", … {more} more" if more else "")


def _decimals(value: float) -> int:
    return 2 if value < _FEW else 1 if value < _FEW * _FEW else 0
