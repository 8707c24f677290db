"""Keys that seem to differ are read again, until each is equal or proven to differ.

A row is read at the source while the stream goes on. Let *low* be what the stream had delivered
before the SELECT: the SELECT sees all of it. Then everything that the SELECT may have seen is
waited for, in the topic and then in the mirror. The records of the topic between low and what the
mirror has applied tell which states each key had in that time.

- A key without a record did not change: both sides must be equal.
- The mirror must be in the last state of a key that changed, and the source in one of its states.
  If only the source is not, the key is read again.
- If a record says that all rows are gone, all keys are read again.

Where the mirror has only hashes of keys, a row of the source still has its key and the key's hash,
so it is found on both sides. Nobody can tell the key of a row that only the mirror has. If this
row changed after the source was read, the topic's records have its key. If not, the source does
not have the row: its SELECTs would have seen it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation.contract import OP_CREATE, OP_DELETE, OP_TRUNCATE, OP_UPDATE
from stream_jobs.apply.row_hashes import Keys
from verification.digests import Digest, digest_pairs, row_digests
from verification.key_texts import condition_of_keys, select_literal
from verification.pipeline import Pipeline
from verification.report import Difference, Kind
from verification.side import Side
from verification.source_table import UNKNOWN_KEY, RowKey, SourceTable


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


class _States(NamedTuple):
    """What a part of the topic says of some keys: digests of rows, None for no row."""

    of_keys: Mapping[Digest, list[Digest | None]]
    are_rows_gone: bool


class _BothSides(NamedTuple):
    """One look at both sides: rows, as tables and places."""

    source: Mapping[Digest, tuple[pa.Table, int]]
    mirror: Mapping[Digest, list[tuple[pa.Table, int]]]
    states: _States


class CandidateCheck:
    """Settles the candidates of one table."""

    def __init__(self, tables: TablePair, patience_seconds: float) -> None:
        """Look at both sides as often as necessary."""
        self._pipeline, self._source, self._mirror = tables
        self._patience_seconds = patience_seconds
        self._names = tables.source.schema.database, tables.source.schema.table
        self.hidden_keys = HashedKeys(tables)

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
            looked = self._look(left)
            again = {}
            for digest, key in left.items():
                verdict = self._judge(looked, digest, key)
                if verdict is None:
                    again[digest] = key
                elif verdict is not EQUAL:
                    differences[digest] = verdict
            left = again
        return CandidateResult(differences, left.keys())

    def _look(self, candidates: Mapping[Digest, RowKey]) -> _BothSides:
        pipeline, mirror = self._pipeline, self._mirror
        low = pipeline.low(*self._names)
        source: dict[Digest, tuple[pa.Table, int]] = {}
        every = list(candidates.values())
        known = [key for key in every if key != UNKNOWN_KEY]
        for start in range(0, len(known), _KEYS_OF_A_SELECT):
            keys = known[start : start + _KEYS_OF_A_SELECT]
            where = condition_of_keys(self._source.key_columns, keys, select_literal)
            for rows in self._source.chunks(low.delivered, where):
                own = digest_pairs(row_digests(rows, mirror.key))
                source |= {digest: (rows, place) for place, digest in enumerate(own)}
        ends = pipeline.wait_until_delivered(pipeline.reached(), *self._names)
        snapshot = mirror.wait_until_applied(
            ends,
            lambda offsets: any(pipeline.records(*self._names, offsets, ends)),
            self._patience_seconds,
        )
        wanted = np.array(list(candidates), np.int64).reshape(-1, 2)
        digests_wanted = Keys(wanted[:, 0].copy(), wanted[:, 1].copy())
        mirror_rows = mirror.rows_of(snapshot, digests_wanted, self._near(every), every)
        rows_of: dict[Digest, list[tuple[pa.Table, int]]] = {}
        for place, digest in enumerate(digest_pairs(row_digests(mirror_rows, mirror.key))):
            rows_of.setdefault(digest, []).append((mirror_rows, place))
        return _BothSides(source, rows_of, self._states(low.ends, candidates))

    def _near(self, keys: Sequence[RowKey]) -> NDArray[np.int64] | None:
        """Return the numbers of the keys' first column; None if it has none."""
        number = self._source.key_number
        return None if number is None else np.array([number.number(key[0]) for key in keys])

    def _states(self, low: Mapping[int, int], wanted: Collection[Digest]) -> _States:
        """Read the states of keys from the topic, in order."""
        of_keys: dict[Digest, list[Digest | None]] = {}
        are_rows_gone = False
        for records in self._pipeline.records(*self._names, low, self._mirror.offsets):
            images: list[list[tuple[Digest, Digest]]] = []
            for image in ("before", "after"):
                data = self._source.typed([record.value for record in records], image)
                images.append(self._digests_of(data))
            for record, before, after in zip(records, *images, strict=True):
                if record.op == OP_TRUNCATE:
                    are_rows_gone = True
                    continue
                key, state = before if record.op == OP_DELETE else after
                if key in wanted:
                    states = of_keys.setdefault(key, [])
                    if record.op == OP_UPDATE:
                        states.append(before[1])
                    elif record.op == OP_CREATE:
                        states.append(None)
                    elif record.op == OP_DELETE:
                        states.append(state)
                    states.append(None if record.op == OP_DELETE else state)
        return _States(of_keys, are_rows_gone)

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
        theirs = self._row(source)
        ours = [self._row(place) for place in mirror] or [None]
        states = looked.states.of_keys.get(digest, [theirs])
        if looked.states.are_rows_gone or theirs not in states:
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
        values = None if source is None else _values(*source, self._mirror.columns)
        own = _values(*mirror[-1], self._mirror.columns) if mirror else None
        hashed = values or own or {}
        own_key = {name: hashed[name] for name in self._mirror.key}
        named = dict(zip(self._mirror.key, key, strict=True)) if key != UNKNOWN_KEY else own_key
        return _difference(kind, named, own_key, values, own)

    def _row(self, row: tuple[pa.Table, int] | None) -> Digest | None:
        """Return the digest of a row."""
        if row is None:
            return None
        data, place = row
        return digest_pairs(row_digests(data.slice(place, 1), self._mirror.columns))[0]


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


def _values(data: pa.Table, place: int, names: Sequence[str]) -> dict[str, object]:
    return {name: data[name][place].as_py() for name in names}


def _others(source: Mapping[str, object], mirror: Mapping[str, object]) -> list[str]:
    """Return the columns with other values; the two zeros of a FLOAT are two values."""
    return [name for name, value in source.items() if repr(value) != repr(mirror[name])]
