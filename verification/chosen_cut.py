"""The cut that `--since` names: by its number, its time, its position, or its transactions.

What was changed after the cut is compared. So if a time, a position or a GTID is not that of a cut,
the last cut before it is taken: with more changes, and never with less.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from connector.contract import SEQ_EPOCH_DIGITS
from connector.errors import ConfigError, DecodeError, MirrorError, mirror_cuts, verification
from connector.gtid.either import has_all, parse_gtid_set
from connector.binlog.framing.log_position import file_number
from stream_jobs.cuts.store import CutStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.gtid.either import EitherGtidSet
    from stream_jobs.cuts import Cut
    from stream_jobs.delta.storage import Storage

_POSITION: Final = re.compile(r"(?P<file>[^:]+\.[0-9]+):(?P<position>[0-9]+)")


def chosen_cut(storage: Storage, root: str, text: str) -> Cut:
    """Return the cut of the mirror in `storage` that `text` names; errors name its `root`.

    Raises ConfigError for another text, MirrorError if the mirror has no such cut any more, or if
    its cuts cannot be read.
    """
    store = CutStore(storage, root)
    if text.isdecimal():
        cut = store.read(int(text))
        wanted = f"with the number {text}"
    elif (at := _time(text)) is not None:
        until_ms = at.timestamp() * 1000
        cut = _last(store, lambda cut: (cut.source_time_ms or 0) <= until_ms)
        wanted = f"up to {at.isoformat()}"
    else:
        match = _POSITION.fullmatch(text)
        cut = _by_gtid(store, text) if match is None else _by_position(store, match)
        wanted = f"up to {text}"
    if cut is None:
        raise MirrorError(mirror_cuts.NO_CUT, path=root, wanted=wanted)
    return cut


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _by_gtid(store: CutStore, text: str) -> Cut | None:
    """Return the cut with just these transactions, else the last one that lacks some of them."""
    newest = store.latest()
    flavour = "mysql" if newest is None else newest.flavour
    try:
        wanted = parse_gtid_set(text, flavour)
    except DecodeError as error:
        raise ConfigError(verification.NOT_A_CUT, text=text) from error
    return _last(store, lambda cut: _is_until(cut, wanted))


def _is_until(cut: Cut, wanted: EitherGtidSet) -> bool:
    """Return whether a cut has no other transactions than `wanted`, or not all of them."""
    known = None if cut.gtid is None else parse_gtid_set(cut.gtid, cut.flavour)
    return known is not None and (has_all(wanted, known) or not has_all(known, wanted))


def _by_position(store: CutStore, match: re.Match[str]) -> Cut | None:
    """Return the last cut up to a position in the log of the server that the newest cut is of."""
    newest = store.latest()
    wanted = file_number(match["file"]), int(match["position"])
    if newest is None or _place(newest) < wanted:
        # It may be one in the log of an earlier server.
        return None
    epoch = newest.seq[:SEQ_EPOCH_DIGITS]
    return _last(store, lambda cut: cut.seq[:SEQ_EPOCH_DIGITS] < epoch or _place(cut) <= wanted)


def _place(cut: Cut) -> tuple[int, int]:
    file, _, position = cut.position.rpartition(":")
    return (file_number(file), int(position)) if file else (0, 0)


def _last(store: CutStore, is_before: Callable[[Cut], bool]) -> Cut | None:
    """Return the last cut that `is_before`; no cut after one that is not is so, either."""
    numbers = store.numbers()
    found = None
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        cut = store.read(numbers[middle])
        if cut is None or is_before(cut):
            # The job has removed it meanwhile, because it is old.
            found, low = cut or found, middle + 1
        else:
            high = middle
    return found
