"""The transaction of the last change of several: a GTID, or the file and position without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_jobs.apply.changes import Changes
    from stream_jobs.schema.sequence import PackedSequence


class LastChange(NamedTuple):
    """The change with the highest sequence, and where the source has it."""

    seq: PackedSequence
    transaction: str


def last_change(changes: Changes, places: NDArray[np.intp]) -> LastChange | None:
    """Return the last of the changes at `places`; None without one, or if it does not say it.

    Only its record is parsed for that.
    """
    sequences = changes.sequences
    highest = sequences.highest(places)
    if highest is None:
        return None
    are_last = (sequences.hi[places] == highest.hi) & (sequences.lo[places] == highest.lo)
    try:
        source = orjson.loads(changes.values[int(places[are_last][0])] or b"{}")["source"]
        gtid, file, position = (source.get(name) for name in ("gtid", "file", "pos"))
    except (ValueError, KeyError, TypeError, AttributeError):
        # Whether a record is wrong is decided where its row is read.
        return None
    if gtid:
        return LastChange(highest, str(gtid))
    return LastChange(highest, f"{file}:{position}") if file else None
