"""Keys that seem to differ are read again, until each is equal or proven to differ.

A row is read at the source while the stream goes on. Let *low* be what the stream had delivered
before the SELECT: the SELECT sees all of it. Then everything that the SELECT may have seen is
waited for, in the topic and then in the mirror. The records of the topic between low and what the
mirror has applied tell which states each key had in that time.

- A key without a record did not change: both sides must be equal.
- The mirror must be in the last state of a key that changed, and the source in one of its states.
  If only the source is not, the key is read again.
- If a record says that all rows are gone, all keys are read again.

A mirror that lags need not be waited for. The records that it has not applied yet have the row as
it was before them, too: so the topic tells which state each key had at the offsets of the mirror.
If the mirror has these states, and the source later ones, the table is equal through a moment
before the first of these records. Whatever is not equal in this way is waited for.

Where the mirror has only hashes of keys, a row of the source still has its key and the key's hash,
so it is found on both sides. Nobody can tell the key of a row that only the mirror has. If this
row changed after the source was read, the topic's records have its key. If not, the source does
not have the row: its SELECTs would have seen it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation.contract import OP_CREATE, OP_DELETE, OP_TRUNCATE, OP_UPDATE
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta.snapshot import Snapshot
from verification.digests import Digest, digest_pairs, row_digests
from verification.key_texts import condition_of_keys, select_literal
from verification.pipeline import DeliveredState, Pipeline
from verification.report import Difference, Kind
from verification.side import Side
from verification.source_moment import SourceMoment
from verification.source_table import UNKNOWN_KEY, RowKey, SourceTable
from verification.table_topic import TopicRecord


class TablePair(NamedTuple):
    """A table of the source, and the mirror or replica that has to equal it."""

    pipeline: Pipeline
    source: SourceTable
    mirror: Side


class HashedKeys:
    """Finds keys that only the mirror had, if they changed."""

    def __init__(self, tables: TablePair) -> None:
        """Look into the topic of a table."""
        self._pipeline, self._source, self._mirror = tables
        # Offsets before the source was read, by partition.
        self.begin: Mapping[int, int] = {}

    def find(self, candidates: dict[Digest, RowKey]) -> None:
        """Fill in the keys that are `UNKNOWN` and that records since then have."""
        source, mirror = self._source, self._mirror
        wanted = {digest for digest, key in candidates.items() if key == UNKNOWN_KEY}
        if not wanted:
            return
        names = source.schema.database, source.schema.table
        ends = self._pipeline.ends(*names)
        for records in self._pipeline.records(*names, self.begin, ends):
            for image in ("before", "after"):
                data = source.typed([record.value for record in records], image)
                keys = source.clear_keys.keys_of(data, mirror.key)
                own = zip(digest_pairs(row_digests(data, mirror.key)), keys, strict=True)
                candidates |= {digest: key for digest, key in own if digest in wanted}


_KEYS_OF_A_SELECT: Final = 500
_ROUNDS_MAX: Final = 20


class CandidateResult(NamedTuple):
    """What became of the candidates."""

    differences: dict[Digest, Difference]
    unsettled: Collection[Digest]  # keys that changed each time they were read


class _Unknown(Enum):
    """The state of a row before it was copied, which no record tells."""

    UNKNOWN = "unknown"


# A digest of the row; None for no row.
_State = Digest | _Unknown | None


class _Change(NamedTuple):
    """A change of one key in the topic."""

    record: TopicRecord
    before: _State
    after: _State


class _Changes(NamedTuple):
    """What a part of the topic says of some keys."""

    of_keys: Mapping[Digest, list[_Change]]
    are_rows_gone: bool
    # The first sequence from the offsets of the mirror on; None if there is none.
    first_lacking: str | None


def _value_at(changes: Sequence[_Change], offsets: Mapping[int, int]) -> _State:
    """Return the state of a key before some offsets."""
    value = changes[0].before
    for change in changes:
        if change.record.offset < offsets.get(change.record.partition, 0):
            value = change.after
    return value


class _Row(NamedTuple):
    """A row that was read, as its place in a table, and the digest of its values."""

    data: pa.Table
    place: int
    digest: Digest


class _SourceLook(NamedTuple):
    """One look at the source: rows by the digests of their keys."""

    low: DeliveredState  # before the SELECT
    rows: Mapping[Digest, _Row]
    ends: Mapping[int, int]  # of the topic, when it had what the SELECT may have seen


class _BothSides(NamedTuple):
    """One look at both sides: rows by the digests of their keys."""

    source: Mapping[Digest, _Row]
    mirror: Mapping[Digest, list[_Row]]
    changes: _Changes


class CandidateCheck:
    """Settles the candidates of one table."""

    def __init__(
        self, tables: TablePair, patience_seconds: float, *, waits_for_mirror: bool = True
    ) -> None:
        """Look at both sides as often as necessary.

        Unless it `waits_for_mirror`, a mirror that lags is equal if the topic says that it was.
        """
        self._pipeline, self._source, self._mirror = tables
        self._patience_seconds = patience_seconds
        self._waits_for_mirror = waits_for_mirror
        self._names = tables.source.schema.database, tables.source.schema.table
        self.hidden_keys = HashedKeys(tables)
        # Through when the mirror had everything, if it lagged; None if it was waited for.
        self.through: SourceMoment | None = None

    def settle(self, candidates: Mapping[Digest, RowKey]) -> CandidateResult:
        """Return the differences among the candidates.

        Raises SinkUnavailable or MirrorError if the pipeline or the mirror do not go on, and the
        errors of reading.
        """
        left = dict(candidates)
        differences: dict[Digest, Difference] = {}
        for _ in range(_ROUNDS_MAX):
            if not left:
                break
            self.hidden_keys.find(left)
            source = self._read(left)
            if not self._waits_for_mirror and self._was_equal(source, left):
                return CandidateResult(differences, ())
            looked = self._look(source, left)
            again = {}
            for digest, key in left.items():
                verdict = self._judge(looked, digest, key)
                if verdict is None:
                    again[digest] = key
                elif verdict is not EQUAL:
                    differences[digest] = verdict
            left = again
        return CandidateResult(differences, left.keys())

    def _read(self, candidates: Mapping[Digest, RowKey]) -> _SourceLook:
        """Read rows of the source, and wait until the topic has what may have been seen."""
        pipeline = self._pipeline
        low = pipeline.low(*self._names)
        found: dict[Digest, _Row] = {}
        known = [key for key in candidates.values() if key != UNKNOWN_KEY]
        for start in range(0, len(known), _KEYS_OF_A_SELECT):
            keys = known[start : start + _KEYS_OF_A_SELECT]
            where = condition_of_keys(self._source.key_columns, keys, select_literal)
            for rows in self._source.chunks(low.delivered, where):
                found |= self._rows_of(rows)
        ends = pipeline.wait_until_delivered(pipeline.reached(), *self._names)
        return _SourceLook(low, found, ends)

    def _was_equal(self, source: _SourceLook, candidates: Mapping[Digest, RowKey]) -> bool:
        """Return whether the mirror lags, and is equal at the moment that it has come to."""
        snapshot = self._mirror.refresh()
        at = dict(self._mirror.offsets)
        if all(at.get(part, 0) >= end for part, end in source.ends.items()):
            return False
        low = source.low.ends
        begin = {part: min(low.get(part, 0), at.get(part, 0)) for part in source.ends}
        changes = self._changes(begin, source.ends, candidates)
        if changes.are_rows_gone or changes.first_lacking is None:
            return False
        through = self._pipeline.moment_before(changes.first_lacking)
        if through is None:
            return False
        mirror = self._mirror_rows(snapshot, candidates)
        for digest in candidates:
            theirs = _state_of(source.rows.get(digest))
            own = [_state_of(row) for row in mirror.get(digest, ())] or [None]
            of_key = changes.of_keys.get(digest)
            if of_key is None:
                if own != [theirs]:
                    return False
                continue
            if len({each.record.partition for each in of_key}) > 1:
                # The topic got more partitions: nothing tells their order.
                return False
            later = [each.after for each in of_key if _is_from(each.record, low)]
            if own != [_value_at(of_key, at)] or theirs not in (_value_at(of_key, low), *later):
                return False
        self.through = through if self.through is None else min(self.through, through)
        return True

    def _look(self, source: _SourceLook, candidates: Mapping[Digest, RowKey]) -> _BothSides:
        pipeline, mirror, ends = self._pipeline, self._mirror, source.ends
        snapshot = mirror.wait_until_applied(
            ends,
            lambda offsets: any(pipeline.records(*self._names, offsets, ends)),
            self._patience_seconds,
        )
        rows = self._mirror_rows(snapshot, candidates)
        changes = self._changes(source.low.ends, mirror.offsets, candidates)
        return _BothSides(source.rows, rows, changes)

    def _mirror_rows(
        self, snapshot: Snapshot, candidates: Mapping[Digest, RowKey]
    ) -> dict[Digest, list[_Row]]:
        mirror, every = self._mirror, list(candidates.values())
        wanted = np.array(list(candidates), np.int64).reshape(-1, 2)
        digests = Keys(wanted[:, 0].copy(), wanted[:, 1].copy())
        rows = mirror.rows_of(snapshot, digests, self._near(every), every)
        found: dict[Digest, list[_Row]] = {}
        for digest, row in self._rows_of(rows):
            found.setdefault(digest, []).append(row)
        return found

    def _rows_of(self, data: pa.Table) -> Iterator[tuple[Digest, _Row]]:
        """Yield rows with the digests of their keys."""
        for place, (key, digest) in enumerate(self._digests_of(data)):
            yield key, _Row(data, place, digest)

    def _near(self, keys: Sequence[RowKey]) -> NDArray[np.int64] | None:
        """Return the numbers of the keys' first column; None if it has none."""
        number = self._source.key_number
        return None if number is None else np.array([number.number(key[0]) for key in keys])

    def _changes(
        self, begin: Mapping[int, int], end: Mapping[int, int], wanted: Collection[Digest]
    ) -> _Changes:
        """Read the changes of keys from the topic, in order."""
        of_keys: dict[Digest, list[_Change]] = {}
        are_rows_gone = False
        first_lacking: str | None = None
        for records in self._pipeline.records(*self._names, begin, end):
            images: list[list[tuple[Digest, Digest]]] = []
            for image in ("before", "after"):
                data = self._source.typed([record.value for record in records], image)
                images.append(self._digests_of(data))
            for record, before, after in zip(records, *images, strict=True):
                if _is_from(record, self._mirror.offsets):
                    first_lacking = min(first_lacking or record.sequence, record.sequence)
                if record.op == OP_TRUNCATE:
                    are_rows_gone = True
                    continue
                key = before[0] if record.op == OP_DELETE else after[0]
                if key in wanted:
                    changes = of_keys.setdefault(key, [])
                    changes.append(_change(record, before[1], after[1]))
        return _Changes(of_keys, are_rows_gone, first_lacking)

    def _digests_of(self, data: pa.Table) -> list[tuple[Digest, Digest]]:
        key, columns = self._mirror.key, self._mirror.columns
        return list(
            zip(
                digest_pairs(row_digests(data, key)),
                digest_pairs(row_digests(data, columns)),
                strict=True,
            )
        )

    def _judge(self, looked: _BothSides, digest: Digest, key: RowKey) -> Difference | None:
        """Return the difference, `EQUAL`, or None if the key has to be looked at again."""
        source, mirror = looked.source.get(digest), looked.mirror.get(digest, [])
        theirs = _state_of(source)
        ours = [_state_of(row) for row in mirror] or [None]
        states = _states(looked.changes.of_keys.get(digest, ())) or [theirs]
        if looked.changes.are_rows_gone or theirs not in states:
            return None
        if ours == states[-1:]:
            return EQUAL
        if len(ours) == 1 and ours[0] == theirs:
            # It was equal at another time: the mirror has not what the topic has.
            return None
        if not mirror and self._mirror.has_no_change(digest):
            self._mirror.rows_without_change += 1
            return EQUAL
        kind: Kind = "missing" if not mirror else "different"
        if source is None or len(mirror) > 1:
            kind = "surplus"
        names = self._mirror.columns
        values = None if source is None else _values(source, names)
        own = _values(mirror[-1], names) if mirror else None
        hashed = values or own or {}
        own_key = {name: hashed[name] for name in self._mirror.key}
        named = dict(zip(self._mirror.key, key, strict=True)) if key != UNKNOWN_KEY else own_key
        return _difference(kind, named, own_key, values, own)


def _state_of(row: _Row | None) -> Digest | None:
    """Return the state of a row that was looked for."""
    return None if row is None else row.digest


def _change(record: TopicRecord, before: Digest, after: Digest) -> _Change:
    if record.op == OP_UPDATE:
        return _Change(record, before, after)
    if record.op == OP_DELETE:
        return _Change(record, before, None)
    return _Change(record, None if record.op == OP_CREATE else _Unknown.UNKNOWN, after)


def _is_from(record: TopicRecord, offsets: Mapping[int, int]) -> bool:
    return record.offset >= offsets.get(record.partition, 0)


def _states(changes: Iterable[_Change]) -> list[_State]:
    """Return the states that records tell, in order."""
    every = (state for change in changes for state in (change.before, change.after))
    return [state for state in every if state is not _Unknown.UNKNOWN]


EQUAL: Final = Difference("different", {}, None, None)


def _difference(
    kind: Kind,
    key: dict[str, object],
    own_key: dict[str, object],
    source: dict[str, object] | None,
    mirror: dict[str, object] | None,
) -> Difference:
    if source is not None and mirror is not None:
        others = _others(source, mirror)
        source = {name: source[name] for name in others}
        mirror = {name: mirror[name] for name in others}
    return Difference(kind, key, source, mirror, own_key=own_key)


def _values(row: _Row, names: Sequence[str]) -> dict[str, object]:
    return {name: row.data[name][row.place].as_py() for name in names}


def _others(source: Mapping[str, object], mirror: Mapping[str, object]) -> list[str]:
    """Return the columns with other values; the two zeros of a FLOAT are two values."""
    return [name for name, value in source.items() if repr(value) != repr(mirror[name])]
