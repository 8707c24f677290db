"""What distinguishes one mode of a mirror from another."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from stream_jobs.apply.changes import TRUNCATE
from stream_jobs.apply.key_index import Indexed
from stream_jobs.schema.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream_jobs.apply.changes import Changes
    from stream_jobs.apply.facts import MirrorFacts
    from stream_jobs.apply.work import Work
    from stream_jobs.delta.columns import Column
    from stream_jobs.schema.sequence import PackedSequence, Truncate
    from stream_jobs.schema.table_schema import TableSchema


class Truncation(Enum):
    """What a truncate does to the rows of a mirror that are below it."""

    KILLS = auto()  # they are gone, also those that are still to come
    CHANGES = auto()  # they are written again
    IS_A_ROW = auto()  # nothing; the truncate is a row itself


class OwnColumn(NamedTuple):
    """A column that the source does not have."""

    name: str
    type: pa.DataType
    comment: str


class Mode:
    """A mode without state; each name has one instance, in the driver and in every worker."""

    name: ClassVar[str]
    # Between the source's columns and the sequence.
    columns: ClassVar[tuple[OwnColumn, ...]] = ()
    # Whether only tables with a key, or only tables without one, can have such a mirror.
    needs_key: ClassVar[bool] = True
    refuses_key: ClassVar[bool] = False
    # Whether columns that the source lost or retyped stay, with the values that they had.
    keeps_columns: ClassVar[bool] = False
    # Whether rows from before ADD COLUMN get the value that the server gave them.
    is_filling: ClassVar[bool] = True
    truncation: ClassVar[Truncation] = Truncation.KILLS
    # Whether a record that comes twice in a batch has to be found.
    is_counting: ClassVar[bool] = True

    def suits(self, schema: TableSchema) -> bool:
        """Return whether the table can have such a mirror."""
        return not self.refuses_key if schema.key else not self.needs_key

    def are_live(
        self, changes: Changes, are_above_mark: NDArray[np.bool_], floor: PackedSequence | None
    ) -> NDArray[np.bool_]:
        """Return which changes are to be applied."""
        live = changes.are_rows & are_above_mark
        if self.truncation is Truncation.IS_A_ROW:
            live |= (changes.ops == TRUNCATE) & are_above_mark
        if self.is_counting:
            live &= changes.are_first()
        if floor is not None and self.truncation is Truncation.KILLS:
            live &= changes.sequences.are_above(floor)
        elif floor is not None and self.needs_key and None in changes.keys:
            # Rows from before the table had its key.
            have_key = np.fromiter((key is not None for key in changes.keys), np.bool_)
            live &= have_key | changes.sequences.are_above(floor)
        return live

    def apply(self, work: Work, live: NDArray[np.intp]) -> None:
        """Apply the changes at `live`: fill in the result of `work`.

        Raises WrongRecordError for a record that is wrong, MirrorError if the storage fails.
        """
        raise NotImplementedError

    def after_truncates(self, data: pa.Table, truncates: Sequence[Truncate]) -> pa.Table | None:
        """Return the rows of a data file as they are after truncates; None if none is below them.

        Only asked if a truncate changes rows.
        """
        raise NotImplementedError

    def indexed(self, mirror: MirrorFacts) -> Indexed:
        """Return what the indexes of data files have."""
        named = {column.name: column for column in mirror.columns}
        key = tuple(named[name] for name in mirror.schema.key)
        return Indexed(key, sequence_columns(named))

    def file_order(self, schema: TableSchema) -> tuple[str, ...]:
        """Return the columns by which rows of a file are found, which have statistics."""
        return schema.key


def sequence_columns(named: dict[str, Column]) -> tuple[Column, ...]:
    """Return the two columns of the sequence."""
    return named[HI], named[LO]
