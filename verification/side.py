"""What a table of the source is compared with: its mirror, or its table at the replica.

Both are at a version of the mirror. That of a replica is the one whose rows it has.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.source.table_schema import TableSchema
from verification.checksums import Checksums
from verification.digests import Digest
from verification.key_ranges import KeyRanges
from verification.row_text import RowText

Found = TypeVar("Found")

# Many tables wait at the same time, each with a look of its own, so they look less often later.
_LOOK_SECONDS: Final = 0.2
_LOOK_SECONDS_MAX: Final = 1.0


class Side(Protocol):
    """One table of the side that is compared with the source.

    Methods raise MirrorError and the errors of a session.
    """

    # Of a journal: columns that are newer than changes that count, and rows of the source that
    # have not changed since it began.
    late_columns: list[str]
    rows_without_change: int

    @property
    def key(self) -> Sequence[str]:
        """The columns of the primary key, in its order."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """The columns that both sides have."""
        ...

    @property
    def missing_columns(self) -> list[str]:
        """The columns that this side gets later."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The version of the mirror that was read last."""
        ...

    @property
    def last_transaction(self) -> str | None:
        """The source transaction of the last applied change."""
        ...

    @property
    def offsets(self) -> Mapping[int, int]:
        """What was applied of the topic, by partition, when rows were read last."""
        ...

    def refresh(self) -> Snapshot:
        """Return the newest version."""
        ...

    def keys(self, snapshot: Snapshot) -> Iterator[pa.ChunkedArray]:
        """Yield the first column of the key, of the rows of a version of the mirror."""
        ...

    def batches(self, snapshot: Snapshot, ranges: KeyRanges | None = None) -> Iterator[pa.Table]:
        """Yield the rows; with `ranges`, only rows whose keys are in them."""
        ...

    def rows_of(
        self,
        snapshot: Snapshot,
        wanted: Keys,
        near: NDArray[np.int64] | None = None,
        keys: Sequence[tuple[object, ...]] | None = None,
    ) -> pa.Table:
        """Return the rows with the keys `wanted`, which are digests.

        If the keys are known, `near` are the numbers of their first columns, and `keys` the values.
        """
        ...

    def has_no_change(self, digest: Digest) -> bool:
        """Return whether a journal began without the row of a key that was asked for last."""
        ...

    def writes_texts_of(self, schema: TableSchema) -> bool:
        """Return whether it writes a row of a table of the source as the source does."""
        ...

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Return the sums of `ranges`, and which of them are known; `show` gets rows."""
        ...

    def wait_until_applied(
        self,
        ends: Mapping[int, int],
        has_records: Callable[[Mapping[int, int]], bool],
        patience_seconds: float,
    ) -> Snapshot:
        """Return the first version that has the topic up to its `ends`.

        `has_records` says whether there are records from some offsets on. Raises MirrorError if
        nothing more is applied for so long.
        """
        ...

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns; call it again if a connection was lost meanwhile."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def wait_for(
    side: Side,
    ends: Mapping[int, int],
    has_records: Callable[[Mapping[int, int]], bool],
    patience_seconds: float,
    late: Callable[[], MirrorError],
) -> Snapshot:
    """Return the first version of a side that has the topic up to its `ends`.

    Raises the error that `late` returns if nothing more is applied for so long: a copy of a whole
    table takes long, but moves on.
    """
    deadline = 0.0
    most = -1
    # Where nothing more was applied, the answer stays the same.
    looked_at: dict[int, int] | None = None
    pause = _LOOK_SECONDS
    while True:
        snapshot, offsets = side.refresh(), side.offsets
        behind = {part: offsets.get(part, 0) for part in ends}
        if all(behind[part] >= end for part, end in ends.items()):
            return snapshot
        # What was rolled back at the end of a topic is not worth a commit.
        if behind != looked_at and not has_records(behind):
            return snapshot
        looked_at = behind
        applied = sum(behind.values())
        if applied > most:
            most = applied
            deadline = time.monotonic() + patience_seconds
        if time.monotonic() > deadline:
            raise late()
        time.sleep(pause)
        pause = min(2 * pause, _LOOK_SECONDS_MAX)
