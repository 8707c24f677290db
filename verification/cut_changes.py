"""The keys of a table that have changed since the cut that `--since` names.

A cut is named by its number, its time, its position or its transactions. If a time, a position or
a GTID is not that of a cut, the last cut before it is taken: with more changes, never with less.
The offsets of the cut are in the table's version.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from connector.binlog.gtid import AnyGtidSet, has_reached, lacks_some, parse_gtid_set
from connector.binlog.header import file_number
from connector.foundation import contract
from connector.foundation.errors import ConfigError, DecodeError
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.cuts import Cut, cut_errors
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from verification import verify_errors
from verification.changed_keys import VERSION_GONE, AllRowsError, ChangedKeys
from verification.cut_facts import CutSummary, IncrementalScope
from verification.digests import Digest
from verification.mirror_side import MirrorSide
from verification.report import TableResult
from verification.source_table import RowKey
from verification.table_topic import LostRecordsError

_NOT_IN_CUT: Final = "the cut does not have the table as it is now"


def keys_since_cut(
    changes: ChangedKeys, mirror: MirrorSide, cut: Cut, root: str, result: TableResult
) -> dict[Digest, RowKey] | None:
    """Return the keys that changed since `cut` of the mirror at `root`; tell it to `result`.

    None if all rows have to be compared. Raises MirrorError if the version of the cut cannot be
    read any more, or if Kafka lacks records since then; and the errors of the pipeline.
    """
    facts = CutSummary.of(cut)
    own = cut.tables.get(mirror.name_in_cuts)
    if own is None or own.generation != mirror.snapshot.metadata.table_id:
        result.compared_since = IncrementalScope(facts, None, _NOT_IN_CUT)
        return None
    try:
        before = mirror.log.load_version(own.version)
        found = changes.since(before, Progress.read(before.domains[DOMAIN]).offsets)
    except AllRowsError as why:
        result.compared_since = IncrementalScope(facts, None, str(why))
        return None
    except LostRecordsError as lost:
        raise lost.since(cut.number, result.name) from lost
    except MirrorError as error:
        if error.code not in VERSION_GONE:
            raise
        gone = {"number": cut.number, "version": own.version}
        raise MirrorError(cut_errors.TABLE_GONE, path=root, table=result.name, **gone) from error
    result.compared_since = IncrementalScope(facts, len(found), None)
    result.rows = len(found)
    return found


_POSITION: Final = re.compile(r"(?P<file>[^:]+\.[0-9]+):(?P<position>[0-9]+)")


def parse_cut(storage: Storage, root: str, text: str) -> Cut:
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
        raise MirrorError(cut_errors.NO_CUT, path=root, wanted=wanted)
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
        raise ConfigError(verify_errors.NOT_A_CUT, text=text) from error
    return _last(store, lambda cut: _is_until(cut, wanted))


def _is_until(cut: Cut, wanted: AnyGtidSet) -> bool:
    """Return whether a cut surely has no other transactions than `wanted`, or not all of them."""
    known = None if cut.gtid is None else parse_gtid_set(cut.gtid, cut.flavour)
    return known is not None and (has_reached(wanted, known) or lacks_some(known, wanted))


def _by_position(store: CutStore, match: re.Match[str]) -> Cut | None:
    """Return the last cut up to a position in the log of the server that the newest cut is of."""
    newest = store.latest()
    wanted = file_number(match["file"]), int(match["position"])
    if newest is None or _place(newest) < wanted:
        # It may be one in the log of an earlier server.
        return None
    epoch = newest.seq[: contract.SEQ_EPOCH_DIGITS]
    return _last(
        store, lambda cut: cut.seq[: contract.SEQ_EPOCH_DIGITS] < epoch or _place(cut) <= wanted
    )


def _place(cut: Cut) -> LogPosition:
    return LogPosition.parse(cut.position) or LogPosition(0, 0)


def _last(store: CutStore, is_before: Callable[[Cut], bool]) -> Cut | None:
    """Return the last cut that `is_before`; no cut after one that is not is so, either."""
    numbers = store.numbers()
    newest = None
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        cut = store.read(numbers[middle])
        if cut is None or is_before(cut):
            # The job has removed it meanwhile, because it is old.
            newest, low = cut or newest, middle + 1
        else:
            high = middle
    return newest
