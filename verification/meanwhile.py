"""What the topic says of rows without a key between a snapshot of the source and a mirror.

The snapshot is older than the version of the mirror. Without the changes that the snapshot does not
have, the mirror has the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from connector.contract import OP_CREATE, OP_DELETE, OP_UPDATE, Sequence
from verification.digests import digests, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from stream_jobs.apply.keys import Keys
    from verification.digests import Digest
    from verification.mirror_side import MirrorSide
    from verification.pipeline import Low, Pipeline
    from verification.row_tally import Counts, RowTally
    from verification.source_snapshot import Moment
    from verification.source_table import SourceTable

# Which operations have rows in an image, and how many more of them the source then has.
_IMAGES = {"before": ((OP_DELETE, OP_UPDATE), -1), "after": ((OP_CREATE, OP_UPDATE), 1)}


@dataclass
class Meanwhile:
    """The changes that a snapshot does not have, or perhaps not."""

    low: Low
    # Whether they say all: a copy or a truncate does not name the rows that are gone.
    is_complete: bool = True
    # Of these changes, the rows, and how many more of each.
    changes: list[tuple[Keys, int]] = field(default_factory=list)
    # Of the changes that the snapshot perhaps has, in order.
    perhaps: dict[Digest, list[int]] = field(default_factory=dict)

    @classmethod
    def read(
        cls, pipeline: Pipeline, source: SourceTable, mirror: MirrorSide, low: Low, moment: Moment
    ) -> Meanwhile:
        """Read what the mirror has and the snapshot of this moment has not.

        `low` is what was delivered before the snapshot was taken. Raises as `Pipeline.records`.
        """
        own = cls(low)
        names = source.schema.database, source.schema.table
        for records in pipeline.records(*names, low.ends, mirror.offsets):
            known = [moment.has(record) for record in records]
            epochs = {Sequence.parse(record.sequence).epoch for record in records}
            ops = np.array([record.op for record in records])
            # In another epoch, positions are those of another log.
            are_changes = np.isin(ops, (OP_CREATE, OP_UPDATE, OP_DELETE)).all()
            own.is_complete &= bool(are_changes) and epochs == {low.epoch}
            if not own.is_complete:
                break
            are_open = np.array([each is not True for each in known])
            are_unknown = np.array([each is None for each in known])
            values = [record.value for record in records]
            for image, (its_ops, sign) in _IMAGES.items():
                rows = digests(source.typed(values, image), mirror.columns)
                has_image = np.isin(ops, its_ops)
                own.changes.append((rows.take(are_open & has_image), sign))
                for digest in pairs(rows.take(are_unknown & has_image)):
                    own.perhaps.setdefault(digest, []).append(sign)
        return own

    def take_back(self, tally: RowTally) -> None:
        """Let the mirror have only what the snapshot has for sure."""
        for rows, sign in self.changes:
            tally.add(rows, mirror=-sign)

    def is_open(self, digest: Digest, counts: Counts) -> bool:
        """Return whether the changes that the snapshot perhaps has explain these counts."""
        more = counts.source - counts.mirror
        steps = self.perhaps.get(digest, [])
        return bool(steps) and -steps.count(-1) <= more <= steps.count(1)

    def rows(
        self, pipeline: Pipeline, source: SourceTable, mirror: MirrorSide
    ) -> Iterator[pa.Table]:
        """Yield the rows of all changes: some are now on neither side."""
        names = source.schema.database, source.schema.table
        for records in pipeline.records(*names, self.low.ends, mirror.offsets):
            for image in _IMAGES:
                yield source.typed([record.value for record in records], image)
