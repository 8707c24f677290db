"""Every change is a row, which never changes: inserts, updates, deletes, copies and truncates.

No key is looked up. A record that comes twice is known by the marks of its partition.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.changes import TRUNCATE, truncates_of
from stream_jobs.apply.modes.mode import LastChanges, Mode, ModeColumn, ModeInput, Truncation
from stream_jobs.apply.rows import Rows, split, timestamps
from stream_jobs.source.sequence import HI, LO
from stream_jobs.source.table_schema import TableSchema

OP = "_cdc_op"
TIME = "_cdc_ts"


class Journal(Mode):
    """A row for each record."""

    name = "journal"
    columns = (
        ModeColumn(OP, pa.string(), "c insert, u update, d delete, r copied row, t truncate"),
        ModeColumn(TIME, pa.timestamp("us", "UTC"), "when the source committed the change"),
    )
    needs_key = False
    keeps_columns = True
    is_filling = False
    truncation = Truncation.IS_A_ROW
    current_rows = LastChanges()

    def apply(self, work: ModeInput, due: NDArray[np.intp]) -> None:
        """Append the changes, in the order of their sequences."""
        changes = work.changes
        are_truncates = changes.ops[due] == TRUNCATE
        upserts, deletes = split(changes, due[~are_truncates])
        rows = work.reader.rows(upserts, "after", work.source_columns)
        are_bare = changes.are_bare(deletes)
        gone = work.reader.rows(deletes[~are_bare], "before", work.source_columns)
        bare = work.reader.own_keys(deletes[are_bare], work.source_columns)
        data = pa.concat_tables(
            [
                *(_described(work, part) for part in (rows, gone, bare)),
                _emptied(work, due[are_truncates]),
            ],
            promote_options="default",
        )
        work.write(data.sort_by([(HI, "ascending"), (LO, "ascending")]), None)
        work.count(len(upserts), len(deletes), rows, gone, bare)

    def file_order(self, schema: TableSchema) -> tuple[str, ...]:
        """Return the sequence: that is the order of the rows."""
        del schema
        return HI, LO


def _described(work: ModeInput, rows: Rows) -> pa.Table:
    ops = pa.array([chr(op) for op in work.changes.ops[rows.places].tolist()], pa.string())
    return rows.data.append_column(OP, ops).append_column(TIME, timestamps(rows.times))


def _emptied(work: ModeInput, places: NDArray[np.intp]) -> pa.Table:
    """Return the rows of truncates, which have no values."""
    truncates = truncates_of(work.changes, places)
    times = pa.array([truncate.us for truncate in truncates], pa.int64())
    sequences = work.changes.sequences
    return pa.table(
        {
            HI: sequences.hi[places],
            LO: sequences.lo[places],
            OP: pa.array(["t"] * len(truncates), pa.string()),
            TIME: timestamps(times),
        }
    )
