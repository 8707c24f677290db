"""Which column of a target is which column of the source, and what else its columns mean.

Names are equal, or equal without regard to case, or to case and `_`. Columns that replication
programs add mark deleted rows, which are as good as absent, or are ignored.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.errors import MirrorError
from stream_jobs.source.table_schema import TableSchema
from verification.digests import Digest, digest_pairs, row_digests
from verification.foreign import foreign_errors
from verification.foreign.deletion_marks import MARKS, mark_among
from verification.foreign.forms import Form, limited, of_source, shown_rows
from verification.foreign.tolerance import NearRow, Tolerance, Tolerances, numbers_of

_METADATA: Final = (
    "__",
    "_fivetran_",
    "_dlt_",
    "_airbyte_",
    "_ab_",
    "_sdc_",
    "_cdc_",
    "_hoodie_",
    "_peerdb_",
    "_version",
)
# An unfit value makes a digest that no row of the source has.
_UNFIT: Final = np.int64(0x5BD1E9955BD1E995)


class ColumnPair(NamedTuple):
    """A column of the source, its column in the target, and how this is read."""

    column: SchemaColumn
    target: str
    form: Form
    note: str = ""  # why this form was taken
    digits: int | None = None  # after the point; None: all are compared
    tolerance: Tolerance | None = None

    @property
    def name(self) -> str:
        """The name at the source."""
        return self.column["name"]

    def differ(self, own: object, theirs: object) -> bool:
        """Return whether two values of the compared type are no longer the same."""
        if repr(own) == repr(theirs):
            return False
        if self.tolerance is None or own is None or theirs is None:
            return True
        try:
            first, second = (numbers_of(pa.array([each], self.form.kind)) for each in (own, theirs))
        except pa.ArrowException:
            return True  # an unfit value
        return not self.tolerance.near(first, second).all()

    def limited(self, values: pa.Array) -> pa.Array:
        """Return values with the digits that are compared: numbers rounded, and times cut."""
        return values if self.digits is None else limited(values, self.digits)


class DecodedRows(NamedTuple):
    """Rows of the target in the form of the source."""

    data: pa.Table  # the compared columns, by the names of the source
    raw: pa.Table  # the same rows as the target has them
    unfit: NDArray[np.bool_]  # rows with a value that is none of the source's type
    unfit_keys: NDArray[np.bool_]  # rows whose key is none


@dataclass
class ColumnNames:
    """What the names of both sides say, before a row was looked at."""

    targets: dict[str, str] = field(default_factory=dict)  # by the name at the source
    mark: str | None = None  # the column that marks deleted rows
    ignored: list[str] = field(default_factory=list)
    only_target: list[str] = field(default_factory=list)
    only_source: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        schema: TableSchema,
        names: Sequence[str],
        chosen: Mapping[str, str],
        skipped: Collection[str] = (),
    ) -> "ColumnNames":
        """Pair the columns of `schema` with those of the target; `chosen` has what users chose.

        Columns that are `skipped` are not compared, and what they are in the target marks nothing.
        """
        found = cls()
        free = [name for name in names if name not in chosen.values()]
        rest = [column["name"] for column in schema.columns if column["name"] not in chosen]
        same = _same_names(rest, free)
        of_source = {column["name"].lower() for column in schema.columns}
        for column in schema.columns:
            name = column["name"]
            own = chosen.get(name) or same.get(name)
            if own is not None:
                of_source.add(own.lower())
            if own is None or name in skipped:
                found.only_source.append(name)
            else:
                found.targets[name] = own
        rest = [name for name in names if name not in found.targets.values()]
        found.mark = mark_among([name for name in rest if name.lower() not in of_source])
        for name in rest:
            is_metadata = name.lower().startswith(_METADATA) or name.lower() in MARKS
            (found.ignored if is_metadata else found.only_target).append(name)
        return found


def _same_names(names: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Return which of `others` has the name of each column, each once: equal names come first."""
    found: dict[str, str] = {}
    left, free = list(names), list(others)
    for form in (str, str.lower, _bare):
        wanted, given = (Counter(map(form, each)) for each in (left, free))
        same = {form(other): other for other in free}
        found |= {
            name: same[form(name)] for name in left if wanted[form(name)] == given[form(name)] == 1
        }
        # One that may be several is none of them.
        left = [name for name in left if not given[form(name)]]
        free = [other for other in free if other not in found.values()]
    return found


def _bare(name: str) -> str:
    return name.lower().replace("_", "")


class ColumnMapping:
    """Reads rows of one target as rows of the source."""

    def __init__(
        self, schema: TableSchema, pairs: Sequence[ColumnPair], names: ColumnNames
    ) -> None:
        """Compare the columns of `pairs`, which has those of the key."""
        self.key: tuple[str, ...] = tuple(schema.key)
        self.pairs = {pair.name: pair for pair in pairs}
        self.columns = list(self.pairs)
        self.names = names
        self.tolerances = Tolerances(
            {name: own.tolerance for name, own in self.pairs.items() if own.tolerance is not None}
        )
        self._deletes = None if names.mark is None else MARKS[names.mark.lower()].marks

    @property
    def targets(self) -> list[str]:
        """The columns of the target that are read."""
        return self._with_mark([pair.target for pair in self.pairs.values()])

    @property
    def key_targets(self) -> list[str]:
        """Those that are read to find rows."""
        return self._with_mark([self.pairs[name].target for name in self.key])

    def live(self, raw: pa.Table) -> NDArray[np.int64]:
        """Return the places of the rows that are not marked as deleted."""
        if self.names.mark is None:
            return np.arange(raw.num_rows)
        assert self._deletes is not None
        marks = raw[self.names.mark].combine_chunks()
        if pa.types.is_boolean(marks.type):
            return np.flatnonzero(~marks.fill_null(False).to_numpy(zero_copy_only=False))
        encoded = pc.dictionary_encode(marks, null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        every = shown_rows(pa.table({"mark": encoded.dictionary}))
        dead = np.array([self._deletes(row["mark"]) for row in every], np.bool_)
        if not len(dead):
            return np.arange(raw.num_rows)
        return np.flatnonzero(~dead[encoded.indices.to_numpy()])

    def decoded(self, raw: pa.Table, names: Sequence[str] | None = None) -> DecodedRows:
        """Return the live rows among `raw`; `names` are columns of the source, all by default."""
        if self.names.mark is not None:
            raw = raw.take(pa.array(self.live(raw), pa.int64()))
        names = self.columns if names is None else names
        unfit = np.zeros(raw.num_rows, np.bool_)
        unfit_keys = np.zeros(raw.num_rows, np.bool_)
        arrays = []
        for name in names:
            pair = self.pairs[name]
            decoded = pair.form.decoded(raw[pair.target])
            arrays.append(pair.limited(decoded.values))
            if decoded.unfit is not None:
                unfit |= decoded.unfit
            if name in self.key:
                unfit_keys |= decoded.values.is_null().to_numpy(zero_copy_only=False)
        data = pa.Table.from_arrays(arrays, names=list(names))
        return DecodedRows(data, raw, unfit | unfit_keys, unfit_keys)

    def of_source(self, rows: pa.Table) -> pa.Table:
        """Return rows of the source, in the types in which they are compared."""
        arrays = [
            pair.limited(of_source(pair.column, rows[pair.name], pair.form.kind))
            for pair in self.pairs.values()
        ]
        return pa.Table.from_arrays(arrays, names=self.columns)

    def keys(self, data: pa.Table) -> Keys:
        """Return the digests of the keys of rows of either side."""
        return row_digests(data, self.key)

    def rows(self, data: pa.Table, unfit: NDArray[np.bool_] | None = None) -> Keys:
        """Return the digests of rows of either side; `unfit` ones equal none of the source.

        Columns with a tolerance do not count.
        """
        digests = row_digests(self.tolerances.exact(data), self.columns)
        if unfit is not None and unfit.any():
            digests = Keys(np.where(unfit, digests.first ^ _UNFIT, digests.first), digests.second)
        return digests

    def values(
        self, data: pa.Table, unfit: NDArray[np.bool_] | None = None
    ) -> list[Digest | NearRow]:
        """Return rows of either side; two of them are equal within the tolerance."""
        digests = digest_pairs(self.rows(data, unfit))
        if not self.tolerances.names:
            return list(digests)
        numbers = self.tolerances.numbers(data)
        return [
            NearRow(own, numbers[place : place + 1], self.tolerances)
            for place, own in enumerate(digests)
        ]

    def _with_mark(self, names: list[str]) -> list[str]:
        return names if self.names.mark is None else [*names, self.names.mark]


def require_key(schema: TableSchema, names: ColumnNames) -> None:
    """Raise MirrorError if the target lacks a column of the key."""
    for name in schema.key:
        if name not in names.targets:
            why = f"the target has no column for {name} of the key"
            raise MirrorError(foreign_errors.NO_KEY, table=schema.name, why=why)
