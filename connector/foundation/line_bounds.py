"""The bound of a log line: it names some of what it tells of, and counts the rest.

A fact may have an entry for each table that has changed, and there may be thousands. Log stores cut
longer lines, or refuse them; and a reader finds in none of them what is new.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from structlog.typing import EventDict

LINE_BYTES: Final = 4096
# What the envelope of ECS takes of it: the names of host, pipeline and program.
_ENVELOPE_BYTES: Final = 700
_SEPARATOR_BYTES: Final = 2
_CHARACTERS_MAX: Final = 1000
# A part of a GTID set or of a stack trace is worth nothing, and neither grows with the tables.
_WHOLE: Final = frozenset({"gtid_set", "stack_trace"})
LEFT_OUT: Final = "left_out"


def bounded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts that fit into a line of LINE_BYTES.

    Lists and objects keep their first entries, each an equal share; `left_out` has by fact the
    number of the others, with those that the caller has left out. Longer texts end with the number
    of characters that follow.
    """
    kept = dict(facts)
    room = LINE_BYTES - _ENVELOPE_BYTES
    if _size(kept) <= room:
        return kept
    counts: dict[str, int] = dict(kept.pop(LEFT_OUT, {}))
    for name, value in facts.items():
        if isinstance(value, str) and len(value) > _CHARACTERS_MAX and name not in _WHOLE:
            more = len(value) - _CHARACTERS_MAX
            kept[name] = f"{value[:_CHARACTERS_MAX]}… {more:,} characters more"
    sizes = {
        name: _size(value)
        for name, value in kept.items()
        if isinstance(value, (Mapping, list, tuple)) and value
    }
    room -= _size({name: value for name, value in kept.items() if name not in sizes})
    # What a small one leaves of its share is for those that follow.
    for place, name in enumerate(sorted(sizes, key=sizes.__getitem__)):
        head = _head(kept[name], room // (len(sizes) - place))
        if left := len(kept[name]) - len(head):
            counts[name] = counts.get(name, 0) + left
        kept[name] = head
        room -= _size({name: head})
    return kept | {LEFT_OUT: counts} if counts else kept


def bound_entry(logger: object, method: str, entry: EventDict) -> EventDict:
    """Bound an entry; a processor of structlog."""
    del logger, method
    return bounded(entry)


def _head(value: Any, room: int) -> Any:
    """Return the first entries of a list or an object that fit into `room` bytes."""
    is_object = isinstance(value, Mapping)
    count = 0
    for entry in value.items() if is_object else value:
        room -= _size(entry) + _SEPARATOR_BYTES
        if room < 0:
            break
        count += 1
    return dict(islice(value.items(), count)) if is_object else list(value[:count])


def _size(value: Any) -> int:
    """Return the bytes of a value as JSON, at most: a line may be in ASCII alone."""
    return len(json.dumps(value, default=str))
