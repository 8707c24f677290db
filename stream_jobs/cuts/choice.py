"""Which cut a reader wants: the newest one, the one that has a transaction, the one of a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connector.errors import ConfigError, DecodeError, mirror_cuts
from connector.gtid.either import has_all, parse_gtid_set
from stream_jobs.cuts.store import CutStore

if TYPE_CHECKING:
    from stream_jobs.cuts.cut import Cut
    from stream_jobs.delta.storage import Storage


def read_cuts(storage: Storage, root: str = "") -> list[Cut]:
    """Return every cut of the mirror in `storage`, the oldest first; errors name its `root`.

    Raises MirrorError if the storage fails, or for a file that is not a cut.
    """
    return list(CutStore(storage, root).read_all())


def latest_cut(storage: Storage, root: str = "") -> Cut | None:
    """Return the newest cut; None without one. Raises MirrorError as `read_cuts`."""
    return CutStore(storage, root).latest()


def cut_at(
    storage: Storage,
    *,
    gtid: str | None = None,
    time: datetime | None = None,
    root: str = "",
) -> Cut | None:
    """Return the first cut that has all transactions of `gtid`, or the last one up to `time`.

    `gtid` is a GTID or a set of them. `time` is compared with the time of the last commit at the
    source; without a zone, it is UTC. Without both, the newest cut. None if no cut fits.

    Raises ConfigError for a text that is not a GTID set, and MirrorError as `read_cuts`.
    """
    store = CutStore(storage, root)
    if gtid is not None:
        return _first_with(store, gtid)
    if time is None:
        return store.latest()
    at = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    wanted_ms = at.timestamp() * 1000
    for number in reversed(store.numbers()):
        cut = store.read(number)
        if cut is not None and cut.source_time_ms is not None and cut.source_time_ms <= wanted_ms:
            return cut
    return None


def _first_with(store: CutStore, gtid: str) -> Cut | None:
    """Return the first cut with all of `gtid`: each cut has what the ones before it have."""
    found = None
    for number in reversed(store.numbers()):
        cut = store.read(number)
        if cut is None or cut.gtid is None or not _has(cut, gtid):
            break
        found = cut
    return found


def _has(cut: Cut, gtid: str) -> bool:
    try:
        wanted = parse_gtid_set(gtid, cut.flavour)
    except DecodeError as error:
        raise ConfigError(mirror_cuts.NOT_A_GTID, text=gtid) from error
    return has_all(parse_gtid_set(cut.gtid or "", cut.flavour), wanted)
