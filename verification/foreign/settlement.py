"""Keys that seem to differ are read again, until the log of the source has told enough of each.

One look reads the rows of the target, then the log up to its end, then the source's rows of the
keys that the log does not name: these did not change, so the target must equal them. Of a key that
changed, the log has all states.

A row that lags is looked at until it is equal, or has another of its older values: then the target
follows. If it stays as it is for longer than the lag, it is stale.

Where the log may lack changes, each key is read at the source, too, and differs only if both sides
stay as they are for longer than the lag.

While a server is away, nobody can write to the target. So no row differs until the lag is over once
more after that.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa

from verification.digests import Digest, digest_pairs
from verification.foreign.column_mapping import ColumnMapping, DecodedRows
from verification.foreign.foreign_report import ForeignResult, RowDifference
from verification.foreign.forms import shown_rows
from verification.foreign.row_states import AGAIN, KeyStates, Moment, Value, Verdict, judge
from verification.foreign.source_log import SourceLog
from verification.foreign.source_rows import SourceRows
from verification.foreign.target import Target
from verification.foreign.target_rows import TargetRows
from verification.patience import Patience
from verification.source_table import RowKey

_US: Final = 1_000_000
_PAUSE_SECONDS: Final = (0.1, 2.0)
# Beyond three times the lag: then a key is left as not settled.
_PATIENCE_US: Final = 60 * _US
# A server logs a change before a SELECT sees it, but not so long before.
_SETTLED_US: Final = _US
# Looks that a verdict needs if the target may be seen in the middle of a change.
_LOOKS_OF_FILES: Final = 3


class Sides(NamedTuple):
    """One table on both sides."""

    source: SourceRows
    target: Target
    mapping: ColumnMapping
    log: SourceLog
    patience: Patience  # with the server of the target


class Look(NamedTuple):
    """One look at some keys."""

    moment: Moment
    rows: DecodedRows
    values: Sequence[Value]  # of these rows
    places: Mapping[Digest, list[int]]  # of the rows with a key
    states: Mapping[Digest, KeyStates]
    source: Mapping[Digest, tuple[pa.Table, int]]
    began: float  # in seconds of the clock of this process


class _Progress(NamedTuple):
    """What earlier looks have shown."""

    found: dict[Digest, RowDifference]
    lagging: dict[Digest, Verdict]
    proofs: dict[Digest, int]  # how often a key was seen to differ, one look after the other
    # How both sides are, and since when, in seconds of the clock of this process.
    seen: dict[Digest, tuple[float, list[Value], Value]]

    def stays_since(self, digest: Digest, rows: list[Value], value: Value) -> float:
        """Note how the target and the source are; return since when both have been so."""
        known = self.seen.get(digest)
        if known is None or known[1:] != (rows, value):
            known = self.seen[digest] = time.monotonic(), rows, value
        return known[0]

    def follows(self, digest: Digest, verdict: Verdict) -> bool:
        """Note a verdict; return whether the target has a newer value of a row that lags."""
        known = self.lagging.get(digest)
        if known is not None and verdict.place > known.place:
            return True
        self.lagging[digest] = verdict
        return False


class Settlement:
    """Settles the candidates of one table."""

    def __init__(self, sides: Sides, lag_seconds: float, result: ForeignResult) -> None:
        """Fill `result`; the target may lag for `lag_seconds`."""
        self._sides = sides
        self._rows = TargetRows(sides.target, sides.mapping)
        self._lag_us = int(lag_seconds * _US)
        self._result = result

    def settle(self, candidates: Mapping[Digest, RowKey], room: int) -> dict[Digest, RowDifference]:
        """Return the differences among the candidates, at most about `room` of them.

        Raises the errors of reading.
        """
        left = dict(candidates)
        progress = _Progress({}, {}, {}, {})
        patience = self._sides.patience
        end_us = 0
        while left:
            away = patience.absences.seconds
            look = patience.again(partial(self._look, left))
            if end_us:
                end_us += int((patience.absences.seconds - away) * _US)
            else:
                end_us = look.moment.end_us + 3 * self._lag_us + _PATIENCE_US
            left = {
                digest: key
                for digest, key in left.items()
                if self._is_open(look, digest, key, progress)
            }
            if len(progress.found) > room or look.moment.end_us > end_us:
                break
            if left:
                least, most = _PAUSE_SECONDS
                time.sleep(min(most, max(least, self._lag_us / _US / 10)))
        for digest, verdict in progress.lagging.items():
            if digest not in left:
                self._result.lag(self._named(candidates[digest]), verdict.age_us)
        if len(progress.found) <= room:
            self._result.unsettled += len(left)
            self._result.open_keys |= left
        return progress.found

    def _is_open(self, look: Look, digest: Digest, key: RowKey, progress: _Progress) -> bool:
        """Judge a key, and return whether it has to be looked at again."""
        rows = [look.values[place] for place in look.places.get(digest, ())]
        reach = self._sides.log.reach_us
        verdict = judge(rows, look.states[digest], look.moment, self._lag_us, reach)
        if self._sides.log.lacks_changes:
            since = progress.stays_since(digest, rows, look.states[digest].values[-1])
            is_late = look.began - since > self._lag_us / _US
        else:
            is_late = True
        if verdict.kind is not None and (not is_late or self._follows_absence(look)):
            verdict = AGAIN
        if verdict.kind is None:
            progress.proofs.pop(digest, None)
            if verdict.since is None or not progress.follows(digest, verdict):
                return verdict.again
            self._result.lacking.add(verdict.since)
            self._result.open_keys[digest] = key
            return False
        proofs = progress.proofs[digest] = progress.proofs.get(digest, 0) + 1
        if proofs < (1 if self._sides.target.has_versions else _LOOKS_OF_FILES):
            return True
        progress.found[digest] = self._difference(look, digest, key, verdict)
        progress.lagging.pop(digest, None)
        self._result.open_keys[digest] = key
        return False

    def _follows_absence(self, look: Look) -> bool:
        """Return whether a server was away in the lag before a look."""
        return look.began - self._sides.patience.absences.ended_at < self._lag_us / _US

    def _named(self, key: RowKey) -> dict[str, object]:
        return dict(zip(self._sides.mapping.key, key, strict=True))

    def _look(self, left: Mapping[Digest, RowKey]) -> Look:
        source, mapping, log = self._sides.source, self._sides.mapping, self._sides.log
        began, begin = time.monotonic(), source.server_time_us()
        self._result.state = self._rows.refresh()
        rows = self._rows.rows_of(left.keys(), list(left.values()))
        moment = Moment(begin, source.server_time_us())
        places: dict[Digest, list[int]] = {}
        for place, digest in enumerate(digest_pairs(mapping.keys(rows.data))):
            places.setdefault(digest, []).append(place)
        values = mapping.values(rows.data, rows.unfit)
        wanted = frozenset(left)
        known = {digest: states.count for digest, states in log.states(wanted).items()}
        settled_us = begin - _SETTLED_US
        asked = {
            digest: key
            for digest, key in left.items()
            if log.lacks_changes or digest not in known or log.hides(digest, settled_us)
        }
        read = self._read(asked)
        # What the SELECT may have seen is in the log by now.
        states = dict(log.states(wanted))
        for digest in asked:
            own = self._value_of(read.get(digest))
            if digest not in states:
                states[digest] = KeyStates.quiet(own)
            elif states[digest].count == known.get(digest):
                states[digest] = states[digest].ended_with(own)
        return Look(moment, rows, values, places, states, read, began)

    def _read(self, keys: Mapping[Digest, RowKey]) -> dict[Digest, tuple[pa.Table, int]]:
        """Return rows of the source, each as a table and a place in it."""
        source, mapping = self._sides.source, self._sides.mapping
        found: dict[Digest, tuple[pa.Table, int]] = {}
        for theirs in source.rows_of(list(keys.values())):
            data = mapping.of_source(theirs)
            own = digest_pairs(mapping.keys(data))
            found |= {digest: (data, place) for place, digest in enumerate(own)}
        return found

    def _value_of(self, row: tuple[pa.Table, int] | None) -> Value:
        if row is None:
            return None
        data, place = row
        return self._sides.mapping.values(data.slice(place, 1))[0]

    def _difference(
        self, look: Look, digest: Digest, key: RowKey, verdict: Verdict
    ) -> RowDifference:
        assert verdict.kind is not None
        source = look.source.get(digest) or self._read({digest: key}).get(digest)
        theirs = None if source is None else source[0].slice(source[1], 1).to_pylist()[0]
        places = look.places.get(digest, [])
        own = [self._values(look.rows, place) for place in places]
        if theirs is not None and own:
            pairs = self._sides.mapping.pairs
            names = [
                name
                for name in theirs
                if any(pairs[name].differ(row[name], theirs[name]) for row in own)
            ]
            theirs = {name: theirs[name] for name in names}
            own = [{name: row[name] for name in names} for row in own]
        values = [look.values[place] for place in places]
        return RowDifference(
            verdict.kind,
            self._named(key),
            theirs,
            own,
            verdict.since,
            verdict.is_lacking,
            values[0] if values else None,
        )

    def _values(self, rows: DecodedRows, place: int) -> dict[str, object]:
        """Return the values of a row; those that are unfit as the target has them."""
        values = shown_rows(rows.data.slice(place, 1))[0]
        raw = shown_rows(rows.raw.slice(place, 1))[0]
        for name, pair in self._sides.mapping.pairs.items():
            if values[name] is None and rows.unfit[place]:
                values[name] = raw[pair.target]
        return values
