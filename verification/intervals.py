"""The intervals of a history, and the changes of a journal, prove themselves and by the log.

A history says by sequences which change begins and ends each version. So no two versions of a key
may be there at one moment, only a delete or a truncate may leave a gap between two, and each border
has the time that the source's log has at its place. Where times of the log run backwards, a border
is at the time of the one before it, of the same key.

One pass over the mirror writes a record of fixed size for each row to a temporary file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream_jobs.apply.modes.history import History
from stream_jobs.apply.modes.journal import OP, TIME, Journal
from stream_jobs.apply.modes.versions import END_HI, END_LO, END_OP, FROM, IS_CURRENT, TO
from stream_jobs.delta.actions import DataFile
from stream_jobs.source.sequence import HI, LO, PackedSequence, is_above
from verification.commit_times import CommitTimes
from verification.digests import DigestBuckets, row_digests
from verification.mirror_side import MirrorSide

# A version that has no end, and a time that no calendar has.
_NONE: Final = 2**62
_RECORD: Final = np.dtype(
    [
        *((name, "<i8") for name in ("first", "second", "hi", "lo", "from", "to")),
        *((name, "<i8") for name in ("end_hi", "end_lo", "file", "position")),
        ("op", "S1"),  # that ends a version; of a journal, that of the change
        ("is_current", "?"),
    ]
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The modes whose rows have times.
MODES: Final = (History.name, Journal.name)
# What can be wrong.
TWO_AT_ONE_MOMENT: Final = "a later version of the key begins before its end"
GAP: Final = "no version of the key begins where a change has ended this one"
BACKWARDS: Final = "it ends before it begins"
STATE: Final = "it has an end and is current, or neither"
NO_PLACE: Final = "the log has no change at this border"
OTHER_TIME: Final = "the log has another time at this border"
TWICE: Final = "the same change is there twice"
UPDATE_AFTER_DELETE: Final = "an update follows a delete of the key"


@dataclass(frozen=True, slots=True)
class WrongInterval:
    """A version of a history, or a change of a journal, that cannot be right."""

    key: Mapping[str, object]
    begin: str  # ISO 8601
    end: str | None
    why: str
    of_log: str | None = None  # the time that the log has

    def to_json(self) -> dict[str, Any]:
        """Return the member of the report."""
        document = {"key": dict(self.key), "from": self.begin, "to": self.end, "why": self.why}
        return document if self.of_log is None else document | {"time_in_log": self.of_log}

    def words(self) -> str:
        """Return what people read, without the key."""
        until = "" if self.end is None else f" to {self.end}"
        log = "" if self.of_log is None else f": {self.of_log}"
        return f"from {self.begin}{until}: {self.why}{log}"


class Intervals:
    """Looks at the newest version of one mirror."""

    def __init__(
        self, side: MirrorSide, since: PackedSequence, times: CommitTimes | None, count_max: int
    ) -> None:
        """Look at rows from the sequence `since` on, when the table got its key.

        Borders are compared with `times`, if they are known. At most `count_max` are returned.
        """
        self._side = side
        self._since = since
        self._times = times
        self._count_max = count_max
        self._is_history = side.mode == History.name
        self._files: list[DataFile] = []

    def wrong(self) -> list[WrongInterval]:
        """Return what is wrong. Raises MirrorError if the mirror cannot be read."""
        intervals: list[WrongInterval] = []
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            buckets = DigestBuckets(Path(folder), self._side.snapshot.live_rows)
            for records in self._records():
                buckets.add(records)
            for path in buckets.paths:
                records = np.fromfile(path, _RECORD)
                names = ("lo", "hi", "second", "first")
                records = records[np.lexsort([records[name] for name in names])]
                check = self._of_history if self._is_history else self._of_journal
                for why, places, of_log in check(records):
                    room = self._count_max - len(intervals)
                    intervals += self._wrong_intervals(records[places[:room]], why, of_log[:room])
        return intervals

    def _of_history(
        self, records: NDArray[Any]
    ) -> Iterator[tuple[str, NDArray[np.intp], Sequence[int | None]]]:
        """Yield what is wrong, in which versions, and the times of the log."""
        has_next = _are_followed(records)
        end = records["to"]
        after = {name: np.append(records[name][1:], 0) for name in ("from", "hi", "lo")}
        is_open = end == _NONE
        has_time = records["from"] != -_NONE
        two = has_next & (is_open | (end > after["from"]) & (after["from"] != -_NONE))
        yield TWO_AT_ONE_MOMENT, np.flatnonzero(two), ()
        yield BACKWARDS, np.flatnonzero(~is_open & has_time & (end < records["from"])), ()
        is_other = (records["end_hi"] != after["hi"]) | (records["end_lo"] != after["lo"])
        follows = ~is_open & np.isin(records["op"], [b"u", b"c", b"r"])
        gap = follows & (~has_next | is_other | (end < after["from"]))
        yield GAP, np.flatnonzero(gap & ~two), ()
        state = records["is_current"] != is_open
        yield STATE, np.flatnonzero(state | (is_open != (records["op"] == b""))), ()
        if self._times is None:
            return
        before = np.where(np.append(False, has_next[:-1]), np.append(_NONE, end[:-1]), _NONE)
        yield from self._borders(records["hi"], records["from"], before, has_time)
        closed = ~is_open
        yield from self._borders(records["end_hi"], end, records["from"], closed, after["from"])

    def _borders(
        self,
        hi: NDArray[np.int64],
        us: NDArray[np.int64],
        before: NDArray[np.int64],
        are_borders: NDArray[np.bool_],
        after: NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[str, NDArray[np.intp], Sequence[int | None]]]:
        """Compare borders with the log; `before` and `after` are those beside them of the key."""
        assert self._times is not None
        begin, epoch = self._times.begin, self._times.epoch
        # The first part of a sequence begins with the epoch.
        some = np.flatnonzero(are_borders & (hi >= begin) & (hi >> 52 == epoch))
        commits = self._times.times(hi[some])
        yield NO_PLACE, some[~commits.are_known], ()
        own = us[some]
        # Times that run backwards stay between the borders beside them.
        raised = (own > commits.us) & (own == before[some])
        lowered = (own < commits.us) & (own == after[some]) if after is not None else raised & False
        wrong = commits.are_known & (own != commits.us) & ~raised & ~lowered
        yield OTHER_TIME, some[wrong], commits.us[wrong].tolist()

    def _of_journal(
        self, records: NDArray[Any]
    ) -> Iterator[tuple[str, NDArray[np.intp], Sequence[int | None]]]:
        """Yield what is wrong, in which changes, and the times of the log."""
        has_next = _are_followed(records)
        is_same = np.ones(len(records), np.bool_)
        for name in ("hi", "lo"):
            is_same &= np.append(records[name][1:] == records[name][:-1], False)[: len(records)]
        yield TWICE, np.flatnonzero(has_next & is_same), ()
        after = np.append(records["op"][1:], b"")[: len(records)]
        lost = has_next & (records["op"] == b"d") & (after == b"u")
        yield UPDATE_AFTER_DELETE, np.flatnonzero(lost), ()
        if self._times is not None:
            none = np.full(len(records), _NONE)
            has_time = records["from"] != -_NONE
            yield from self._borders(records["hi"], records["from"], none, has_time)

    def _records(self) -> Iterator[NDArray[Any]]:
        side = self._side
        own = (FROM, TO, IS_CURRENT, END_OP, END_HI, END_LO) if self._is_history else (TIME, OP)
        names = [*side.key, HI, LO, *own]
        last = ""
        for file, positions, data in side.all_rows(names):
            if file.path != last:
                self._files.append(file)
                last = file.path
            # Rows from before the table had its key may have any values in its columns.
            is_keyed = is_above(data[HI].to_numpy(), data[LO].to_numpy(), *self._since)
            for name in side.key:
                is_keyed &= data[name].is_valid().to_numpy()
            some = data.filter(pa.array(is_keyed))
            keys = row_digests(some, side.key)
            records = np.zeros(some.num_rows, _RECORD)
            records["first"], records["second"] = keys.first, keys.second
            records["file"], records["position"] = len(self._files) - 1, positions[is_keyed]
            records["hi"], records["lo"] = some[HI].to_numpy(), some[LO].to_numpy()
            if self._is_history:
                records["from"] = _microseconds(some[FROM], -_NONE)
                records["to"] = _microseconds(some[TO], _NONE)
                records["is_current"] = some[IS_CURRENT].to_numpy()
                records["op"] = some[END_OP].fill_null("").to_numpy().astype("S1")
                for name, column in (("end_hi", END_HI), ("end_lo", END_LO)):
                    records[name] = some[column].fill_null(-1).to_numpy()
            else:
                records["from"] = _microseconds(some[TIME], -_NONE)
                records["to"] = _NONE
                records["op"] = some[OP].to_numpy().astype("S1")
            yield records

    def _wrong_intervals(
        self, records: NDArray[Any], why: str, of_log: Sequence[int | None]
    ) -> list[WrongInterval]:
        times = [None if us is None else _text(us) for us in of_log] or [None] * len(records)
        intervals = []
        for record, time in zip(records, times, strict=True):
            file, position = self._files[record["file"]], np.array([record["position"]])
            key = self._side.row_at(file, position)
            end = None if record["to"] == _NONE else _text(int(record["to"]))
            intervals.append(WrongInterval(key, _text(int(record["from"])), end, why, time))
        return intervals


def _are_followed(records: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which records are followed by one of the same key."""
    same = np.ones(max(len(records) - 1, 0), np.bool_)
    for name in ("first", "second"):
        same &= records[name][1:] == records[name][:-1]
    return np.append(same, False)[: len(records)]


def _microseconds(times: pa.ChunkedArray, missing: int) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pc.fill_null(times.cast(pa.int64()), missing).to_numpy()
    return numbers


def _text(us: int) -> str:
    if abs(us) == _NONE:
        return "an unknown time"
    return (_EPOCH + timedelta(microseconds=us)).isoformat()
