"""Guesses what the columns of a target are, by the rows that both sides have.

A number may be seconds or days, and a text base64 or a date. So some rows of the target are read in
each form that its columns may have, and compared with the rows of the source: the form with the
most equal values wins; of those with as many, the one that most values may have, then the one
whose numbers or times are nearest to the source's. Where nearly all
rows of a sample lag, as in the newest file of a table that changes fast, or a column has no value
in them, more rows are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import ConfigError
from stream_jobs.errors import MirrorError
from verification.digests import Digest, digest_pairs, row_digests
from verification.foreign import column_mapping, foreign_errors
from verification.foreign.forms import Form, compared_type, forms_of, measured, of_source
from verification.foreign.source_rows import SourceRows
from verification.foreign.table_choice import TableChoice
from verification.foreign.target import Target
from verification.foreign.tolerance import Numbers, Tolerance, distances_of, numbers_of

_SAMPLE_ROWS: Final = 1000
# So many samples are read while less than this part of a column's values is equal in any form, or
# it has none.
_SAMPLES_MAX: Final = 8
_EQUAL: Final = 1 / 10
# Combinations of forms of a key that are tried.
_KEYS_MAX: Final = 24


class _Votes:
    """The values of one column that speak for each of its forms."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self._equal = np.zeros(len(forms), np.int64)
        self._fit = np.zeros(len(forms), np.int64)
        self._distances: list[list[Numbers]] = [[] for _ in forms]
        self._counted = 0

    def add(
        self, place: int, equal: NDArray[np.bool_], fit: NDArray[np.bool_], distances: Numbers
    ) -> None:
        """Add the values of a sample in the form at a place.

        They say which are equal, which may be, and how far they are from those of the source.
        """
        self._equal[place] += int(equal.sum())
        self._fit[place] += int(fit.sum())
        self._distances[place].append(distances)

    def count(self, values: int) -> None:
        """Add so many values that are not NULL."""
        self._counted += values

    @property
    def are_enough(self) -> bool:
        """Whether the best form can be told by them."""
        return self._counted > 0 and bool(self._equal.max() >= self._counted * _EQUAL)

    @property
    def best(self) -> Form:
        """The form with most votes, the nearest one of several, then the most usual one."""
        # Where all values lag, this tells the units of times.
        every = (np.concatenate(own) for own in self._distances)
        far = np.array([np.median(own) if len(own) else np.inf for own in every])
        return self._forms[int(np.lexsort((far, -self._fit, -self._equal))[0])]

    @property
    def note(self) -> str:
        """How many values of the sample speak for the best form."""
        if not self._counted:
            return "no value to learn from"
        return f"{int(self._equal.max())} of {self._counted} values"


class MappingGuess:
    """Finds the mapping of one table."""

    def __init__(self, source: SourceRows, target: Target, choice: TableChoice) -> None:
        """Pair the columns by their names.

        Raises ConfigError for a choice that does not fit, and MirrorError without a key, or for a
        column whose type in the target cannot be read.
        """
        self._source = source
        self._target = target
        self._choice = choice
        schema, names = source.schema, target.schema.names
        self._require_fitting(names)
        chosen = choice.columns.items()
        named = {name: own.name for name, own in chosen if own.name is not None}
        skipped = [name for name, own in chosen if own.skip]
        self._names = column_mapping.ColumnNames.of(schema, names, named, skipped)
        column_mapping.require_key(schema, self._names)
        self._forms: dict[str, list[Form]] = {}
        for column in schema.columns:
            name = column["name"]
            own = self._names.targets.get(name)
            if own is None:
                continue
            kind = target.schema.field(own).type
            forms = forms_of(column, kind)
            if not forms:
                self._require_never_compared(column, own, kind)
                del self._names.targets[name]
                self._names.only_source.append(name)
                continue
            self._forms[name] = self._chosen(name, forms)
            self._require_distance(column, forms[0].kind)
        column_mapping.require_key(schema, self._names)

    def mapping(self) -> column_mapping.ColumnMapping:
        """Return the mapping; rows are read only if a column may have several forms."""
        first = {name: forms[0] for name, forms in self._forms.items()}
        if all(len(forms) == 1 for forms in self._forms.values()):
            return self._mapping(first, {})
        key = {name: first[name] for name in self._source.schema.key}
        votes, most = self._no_votes(), 0
        for raw in islice(self._samples(self._mapping(first, {})), _SAMPLES_MAX):
            found, theirs = self._best_key(raw, first)
            # A collation may take two keys for the same whose texts differ.
            places = self._places(raw, first | found, theirs) if theirs.num_rows else []
            # A few rows may be found in a wrong form of the key by accident.
            is_same = found == key
            if len(places) <= (0 if is_same else most):
                continue
            if not is_same:
                key, votes = found, self._no_votes()
            most = max(most, len(places))
            for name, own in votes.items():
                self._vote(name, own, raw, theirs, places)
            if all(own.are_enough for own in votes.values()):
                break
        if not most:
            return self._mapping(first | key, {})
        chosen = first | key | {name: own.best for name, own in votes.items()}
        return self._mapping(chosen, {name: own.note for name, own in votes.items()})

    def _no_votes(self) -> dict[str, _Votes]:
        """Return the votes of each column that may have several forms, but those of the key."""
        return {
            name: _Votes(forms)
            for name, forms in self._forms.items()
            if name not in self._source.schema.key and len(forms) > 1
        }

    def _require_fitting(self, names: Sequence[str]) -> None:
        known = {column["name"] for column in self._source.schema.columns}
        for name in self._choice.columns:
            if name not in known:
                why = f"the source has no column {name}"
                raise self._wrong(why)
        for own in self._choice.columns.values():
            if own.name is not None and own.name not in names:
                why = f"the target has no column {own.name}"
                raise self._wrong(why)

    def _require_never_compared(self, column: SchemaColumn, own: str, kind: pa.DataType) -> None:
        """Raise MirrorError for a column without a form that others of its type have."""
        if compared_type(column, kind) is None:
            return
        said = f"the source has {column['type'].upper()}, the target {kind}"
        facts = {"target": self._target.name, "column": own, "said": said}
        raise MirrorError(foreign_errors.TARGET_VALUE, **facts)

    def _chosen(self, name: str, forms: list[Form]) -> list[Form]:
        choice = self._choice.columns.get(name)
        wanted = None if choice is None else choice.form
        if wanted is None:
            return forms
        fitting = [form for form in forms if form.name == wanted]
        if not fitting:
            every = ", ".join(form.name for form in forms)
            why = f"column {name} cannot be {wanted!r}; it can be {every}"
            raise self._wrong(why)
        return fitting

    def _wrong(self, why: str) -> ConfigError:
        return ConfigError(foreign_errors.MAPPING_FORM, target=self._choice.target, why=why)

    def _mapping(
        self, forms: Mapping[str, Form], notes: Mapping[str, str]
    ) -> column_mapping.ColumnMapping:
        by_name = self._source.schema.by_name
        pairs = [
            column_mapping.ColumnPair(
                by_name[name],
                self._names.targets[name],
                forms[name],
                notes.get(name, ""),
                self._digits(name),
                self._tolerance(name),
            )
            for name in self._forms
        ]
        return column_mapping.ColumnMapping(self._source.schema, pairs, self._names)

    def _digits(self, name: str) -> int | None:
        choice = self._choice.columns.get(name)
        return None if choice is None else choice.digits

    def _tolerance(self, name: str) -> Tolerance | None:
        choice = self._choice.columns.get(name)
        return None if choice is None else choice.distance

    def _require_distance(self, column: SchemaColumn, kind: pa.DataType) -> None:
        """Raise ConfigError if a column has no tolerance, and the user gives one."""
        name = column["name"]
        tolerance = self._tolerance(name)
        if tolerance is None:
            return
        if name in self._source.schema.key:
            why = f"column {name} belongs to the key, so it has no tolerance"
            raise self._wrong(why)
        if not tolerance.fits(column, kind):
            word = "seconds" if tolerance.is_seconds else "tolerance"
            why = f"column {name} is {column['type'].upper()}, which has no {word}"
            raise self._wrong(why)

    def _samples(self, mapping: column_mapping.ColumnMapping) -> Iterator[pa.Table]:
        """Yield some rows of the target, evenly from each of its batches."""
        for raw in self._target.batches(mapping.targets):
            live = mapping.live(raw)
            some = live[np.linspace(0, len(live) - 1, min(len(live), _SAMPLE_ROWS)).astype(int)]
            yield raw.take(pa.array(np.unique(some), pa.int64()))

    def _best_key(
        self, raw: pa.Table, first: Mapping[str, Form]
    ) -> tuple[dict[str, Form], pa.Table]:
        """Return the forms of the key with which the source has most rows, and these rows."""
        names = self._source.schema.key
        best = {name: first[name] for name in names}, self._source.no_rows
        for forms in islice(product(*(self._forms[name] for name in names)), _KEYS_MAX):
            chosen = dict(zip(names, forms, strict=True))
            decoded = self._mapping({**first, **chosen}, {}).decoded(raw, names)
            fit = decoded.data.filter(pa.array(~decoded.unfit))
            keys = list(zip(*(fit[name].to_pylist() for name in names), strict=True))
            theirs = pa.concat_tables([self._source.no_rows, *self._source.rows_of(keys)])
            if theirs.num_rows > best[1].num_rows:
                best = chosen, theirs
            if theirs.num_rows == raw.num_rows:
                break
        return best

    def _places(
        self, raw: pa.Table, forms: Mapping[str, Form], theirs: pa.Table
    ) -> list[tuple[int, int]]:
        """Return the places of rows of the sample, and of the same rows of the source."""
        names = self._source.schema.key
        own = digest_pairs(row_digests(self._mapping(forms, {}).decoded(raw, names).data, names))
        by_key: dict[Digest, int] = {
            digest: place for place, digest in enumerate(digest_pairs(row_digests(theirs, names)))
        }
        return [(place, by_key[digest]) for place, digest in enumerate(own) if digest in by_key]

    def _vote(
        self,
        name: str,
        votes: _Votes,
        raw: pa.Table,
        theirs: pa.Table,
        places: Sequence[tuple[int, int]],
    ) -> None:
        """Add the values of a sample, in each form."""
        target, column = self._names.targets[name], self._source.schema.by_name[name]
        own_places, their_places = (
            pa.array(part, pa.int64()) for part in zip(*places, strict=True)
        )
        values = raw[target].take(own_places)
        votes.count(pc.sum(values.is_valid().cast(pa.int64())).as_py() or 0)
        for place, form in enumerate(self._forms[name]):
            own = form.decoded(values).values
            other = of_source(column, theirs[name], form.kind).take(their_places).combine_chunks()
            pair = pa.table({"own": own, "other": other})
            first, second = (row_digests(pair, [part]) for part in ("own", "other"))
            equal = first.first == second.first
            if (tolerance := self._tolerance(name)) is not None:
                equal = tolerance.near(numbers_of(own), numbers_of(other))
                equal &= other.is_valid().to_numpy(zero_copy_only=False)
            fit = own.is_valid().to_numpy(zero_copy_only=False)
            distances = distances_of(measured(column, own), measured(column, other))
            votes.add(place, equal & fit, fit, distances)


def require_rows(source: SourceRows) -> None:
    """Raise MirrorError for a table whose rows have no order in which they can be read."""
    if not source.schema.key:
        why = "it has no primary key"
        raise MirrorError(foreign_errors.NO_KEY, table=source.schema.name, why=why)
    if not source.has_order:
        why = "its key has only the beginning of a column, or no order"
        raise MirrorError(foreign_errors.NO_KEY, table=source.schema.name, why=why)
