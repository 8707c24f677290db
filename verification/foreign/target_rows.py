"""The rows of a target as the source would have them: in ranges of keys, by keys, and as sums."""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import Keys
from stream_jobs.errors import MirrorError
from verification.checksums import Checksums
from verification.digests import Digest, digest_pairs, places_of, row_digests
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, DecodedRows
from verification.foreign.forms import shown_rows
from verification.foreign.target import NamedKeys, Target
from verification.key_ranges import KeyRanges, numbers_of
from verification.row_text import RowText
from verification.source_table import RowKey


class TargetRows:
    """Reads one target by a mapping."""

    def __init__(self, target: Target, mapping: ColumnMapping) -> None:
        """Read the state at which `target` is."""
        self._target = target
        self._mapping = mapping
        # The forms of values were learnt from columns of these types.
        self._kinds = {name: target.schema.field(name).type for name in mapping.targets}
        self.state = ""  # the name of the one that was read last
        self.unfit_keys: list[dict[str, object]] = []
        self.unfit_key_rows = 0

    def refresh(self) -> str:
        """Read the newest state from now on; return its name.

        Raises MirrorError if a column is gone, or has another type.
        """
        target = self._target
        self.state = target.refresh()
        known = set(target.schema.names)
        for name, kind in self._kinds.items():
            if name not in known or target.schema.field(name).type != kind:
                facts = {"target": target.name, "column": name}
                raise MirrorError(foreign_errors.COLUMN_GONE, **facts)
        return self.state

    def batches(self, ranges: KeyRanges | None = None) -> Iterator[DecodedRows]:
        """Yield the rows whose key is one of the source's type; with `ranges`, only those in them.

        Other rows are counted in `unfit_key_rows`.
        """
        self.unfit_keys, self.unfit_key_rows = [], 0
        for raw in self._target.batches(self._mapping.targets):
            rows = self._mapping.decoded(raw)
            rows = self._with_keys(rows)
            if ranges is not None and rows.data.num_rows:
                inside = ranges.places(numbers_of(rows.data[self._mapping.key[0]])) >= 0
                rows = _taken(rows, inside)
            if rows.data.num_rows:
                yield rows

    def newest_keys(self) -> Iterator[NDArray[np.int64]]:
        """Read the newest state from now on, and return the numbers of its keys; as `refresh`."""
        self.refresh()
        return self.key_numbers()

    def key_numbers(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the keys of the state, some at a time."""
        name = self._mapping.key[0]
        for raw in self._target.batches(self._mapping.key_targets):
            rows = self._mapping.decoded(raw, self._mapping.key)
            yield numbers_of(rows.data[name].filter(pa.array(~rows.unfit_keys)))

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Return the sums of `ranges`, and which are known: all of them; `show` gets rows."""
        sums, are_unfit = Checksums(len(ranges)), np.zeros(len(ranges), np.bool_)
        for rows in self.batches(None if ranges.are_all else ranges):
            places = ranges.places(numbers_of(rows.data[self._mapping.key[0]]))
            sums.add(places, text.of_rows(rows.data))
            are_unfit[places[rows.unfit]] = True
            show(rows.data.num_rows)
        # No range of the source has so many rows.
        sums.rows[are_unfit] = -1
        return sums, np.ones(len(ranges), np.bool_)

    def rows_of(self, wanted: Collection[Digest], keys: Sequence[RowKey]) -> DecodedRows:
        """Return the rows with the `wanted` keys, whose values are `keys`."""
        pairs = np.array(list(wanted), np.int64).reshape(-1, 2)
        digests = Keys(pairs[:, 0].copy(), pairs[:, 1].copy())
        mapping = self._mapping
        first = mapping.key[0]
        near = pa.array({key[0] for key in keys}, mapping.pairs[first].form.kind)

        def choose(raw: pa.Table) -> NDArray[np.int64]:
            live = mapping.live(raw)
            rows = mapping.decoded(raw, [first])
            places = np.flatnonzero(
                pc.is_in(rows.data[first], value_set=near).to_numpy(zero_copy_only=False)
                if isinstance(rows.data[first], pa.Array)
                else pc.is_in(rows.data[first], value_set=near).to_numpy()
            )
            if len(mapping.key) > 1 or len(places):
                some = raw.take(pa.array(live[places], pa.int64()))
                data = mapping.decoded(some, mapping.key).data
                places = places[places_of(digests, row_digests(data, mapping.key))]
            return live[places]

        chosen = self._target.chosen(
            mapping.targets, mapping.key_targets, choose, self._named(keys)
        )
        parts = [mapping.decoded(raw) for raw in chosen]
        return _joined(parts, mapping, self._target)

    def _named(self, keys: Sequence[RowKey]) -> NamedKeys | None:
        """Return keys by the columns of the target, if these have the types of the source."""
        pairs = [self._mapping.pairs[name] for name in self._mapping.key]
        schema = self._target.schema
        if any(schema.field(pair.target).type != pair.form.kind for pair in pairs):
            return None
        return NamedKeys([pair.target for pair in pairs], keys)

    def keys_of(self, wanted: Keys) -> dict[Digest, RowKey]:
        """Return the values of keys whose digests are known."""
        mapping = self._mapping

        def choose(raw: pa.Table) -> NDArray[np.int64]:
            live = mapping.live(raw)
            data = mapping.decoded(raw, mapping.key).data
            places: NDArray[np.int64] = live[places_of(wanted, row_digests(data, mapping.key))]
            return places

        found: dict[Digest, RowKey] = {}
        targets = mapping.key_targets
        for raw in self._target.chosen(targets, targets, choose):
            data = mapping.decoded(raw, mapping.key).data
            own = zip(*(data[name].to_pylist() for name in mapping.key), strict=True)
            found |= zip(digest_pairs(row_digests(data, mapping.key)), own, strict=True)
        return found

    def _with_keys(self, rows: DecodedRows) -> DecodedRows:
        """Return rows without those whose key is none of the source's type."""
        if not rows.unfit_keys.any():
            return rows
        places = np.flatnonzero(rows.unfit_keys)
        self.unfit_key_rows += len(places)
        room = max(0, _KEPT - len(self.unfit_keys))
        self.unfit_keys += shown_rows(rows.raw.take(pa.array(places[:room], pa.int64())))
        return _taken(rows, ~rows.unfit_keys)


# Rows without a key of the source that are named.
_KEPT = 1000


def _taken(rows: DecodedRows, mask: NDArray[np.bool_]) -> DecodedRows:
    if mask.all():
        return rows
    chosen = pa.array(mask)
    return DecodedRows(
        rows.data.filter(chosen), rows.raw.filter(chosen), rows.unfit[mask], rows.unfit_keys[mask]
    )


def _joined(parts: Sequence[DecodedRows], mapping: ColumnMapping, target: Target) -> DecodedRows:
    fields = [(name, pair.form.kind) for name, pair in mapping.pairs.items()]
    names = list(dict.fromkeys(mapping.targets))
    none = DecodedRows(
        pa.schema(fields).empty_table(),
        pa.schema([target.schema.field(name) for name in names]).empty_table(),
        np.zeros(0, np.bool_),
        np.zeros(0, np.bool_),
    )
    every = [none, *parts]
    return DecodedRows(
        pa.concat_tables([part.data for part in every]),
        pa.concat_tables([part.raw.select(names) for part in every]),
        np.concatenate([part.unfit for part in every]),
        np.concatenate([part.unfit_keys for part in every]),
    )
