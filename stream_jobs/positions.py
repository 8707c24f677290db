"""What has been applied, in one small Delta table that each batch replaces as its last step.

    kind         topic        partition  hi  lo    meaning
    high_water   shop.a.b     0          …   …     every change of this partition up to here
    floor        shop.a.b     NULL       …   …     rows of this table below it are gone (TRUNCATE)
    partitions   shop.a.b     3          0   0     partitions that the topic had at first

*Why dropping what is not above the high-water mark is right.* The connector writes each partition
in the order of its sequences, and all changes of one key into one partition. So a record that is
not above the mark was applied, together with everything before it. After a restart, or with a new
checkpoint that reads the topics from their start, such records are dropped; without the mark, an
old insert of a row that was deleted since would come back until the replay reaches the delete.

*Why the marks may be written last.* A batch that was interrupted before is run again with the old
marks. Its merges compare sequences row by row: what had been applied is not applied twice. A row
that the interrupted run deleted is deleted by the same batch again, because the last change of its
key is chosen before anything is applied. With another batch boundary (a new checkpoint after the
interruption) the row may come back for a batch, and is deleted when the replay reaches its delete.

*Why the number of partitions is kept.* With more partitions a key moves to another one, and its
changes are no longer read in order: the job stops, see `mirror.PARTITIONS_ADDED`.

*Why floors are kept.* A truncate is one record in one partition; older rows can still come in a
later batch from the others.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.errors import MirrorError, mirror
from stream_jobs.sequence import PackedSequence, is_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, SparkSession

    from stream_jobs.records import PartitionSummary

_HIGH_WATER = "high_water"
_FLOOR = "floor"
_PARTITIONS = "partitions"


class Positions:
    """The high-water marks of partitions and the floors of tables."""

    def __init__(self, base: str) -> None:
        """Store the positions of the mirror under `base`; call `load` first."""
        self._path = f"{base.rstrip('/')}/_cdc/positions"
        self._high_water: dict[tuple[str, int], PackedSequence] = {}
        self._floors: dict[str, PackedSequence] = {}
        self._partitions: dict[str, int] = {}

    def load(self, session: SparkSession) -> None:
        """Read what earlier batches stored."""
        if not DeltaTable.isDeltaTable(session, self._path):
            return
        for row in session.read.format("delta").load(self._path).collect():
            position = PackedSequence(row["hi"], row["lo"])
            if row["kind"] == _FLOOR:
                self._floors[row["topic"]] = position
            elif row["kind"] == _PARTITIONS:
                self._partitions[row["topic"]] = row["partition"]
            else:
                self._high_water[row["topic"], row["partition"]] = position

    def know_partitions(self, counts: Mapping[str, int]) -> None:
        """Note the number of partitions of topics that are not known yet.

        It is stored with the next batch, or by `store`.
        """
        for topic, count in counts.items():
            self._partitions.setdefault(topic, count)

    def accept_partitions(self, batch: Iterable[PartitionSummary]) -> None:
        """Accept all partitions that have records in `batch`."""
        for part in batch:
            count = self._partitions.get(part.topic)
            if count is not None and part.partition >= count:
                self._partitions[part.topic] = part.partition + 1

    def refuse_added_partitions(self, batch: Iterable[PartitionSummary]) -> None:
        """Raise MirrorError if `batch` has records of a partition that the topic did not have."""
        for part in batch:
            count = self._partitions.get(part.topic)
            if count is not None and part.partition >= count:
                raise MirrorError(mirror.PARTITIONS_ADDED, topic=part.topic, partitions=count)

    def applied(self, topic: str, partition: int) -> PackedSequence | None:
        """Return the sequence up to which changes of a partition were applied."""
        bounds = (self._high_water.get((topic, partition)), self._floors.get(topic))
        return max((bound for bound in bounds if bound is not None), default=None)

    def has_rows(self, topic: str) -> bool:
        """Return whether the mirror may have rows: changes of `topic` that no floor has removed."""
        floor = self._floors.get(topic)
        marks = [mark for (name, _), mark in self._high_water.items() if name == topic]
        return any(floor is None or mark > floor for mark in marks)

    def floor(self, topic: str) -> PackedSequence | None:
        """Return the sequence below which rows of `topic` are gone."""
        return self._floors.get(topic)

    def raise_floors(self, batch: Iterable[PartitionSummary]) -> set[str]:
        """Note the truncates of a batch, and return the topics with new floors."""
        raised: set[str] = set()
        for part in batch:
            floor = self._floors.get(part.topic)
            if part.truncated is not None and (floor is None or part.truncated > floor):
                self._floors[part.topic] = part.truncated
                raised.add(part.topic)
        return raised

    def stale(self, topic: str, batch: Iterable[PartitionSummary]) -> Column | None:
        """Return the condition on typed records of `topic` that must not be applied.

        It is None if `batch` has no such record, which is usual.
        """
        hi, lo = F.col("hi"), F.col("lo")
        conditions: list[Column] = []
        for part in batch:
            if part.topic != topic or part.lowest is None:
                continue
            bound = self.applied(topic, part.partition)
            if bound is not None and part.lowest <= bound:
                conditions.append((F.col("partition") == part.partition) & ~is_above(hi, lo, bound))
        return reduce(lambda left, right: left | right, conditions) if conditions else None

    def advance(self, session: SparkSession, batch: Iterable[PartitionSummary]) -> None:
        """Store the end of `batch`, which was applied."""
        for part in batch:
            partition = (part.topic, part.partition)
            if part.highest is not None:
                self._high_water[partition] = max(
                    part.highest, self._high_water.get(partition, part.highest)
                )
        self.store(session)

    def store(self, session: SparkSession) -> None:
        """Replace the stored positions by the current ones."""
        rows = [
            _row(_HIGH_WATER, topic, partition, position)
            for (topic, partition), position in sorted(self._high_water.items())
        ]
        rows += [
            _row(_FLOOR, topic, None, position) for topic, position in sorted(self._floors.items())
        ]
        rows += [
            _row(_PARTITIONS, topic, count, PackedSequence(0, 0))
            for topic, count in sorted(self._partitions.items())
        ]
        # Literals in the plan: a DataFrame of Python objects costs another Spark job.
        table = session.range(0, 1, 1, 1).select(F.inline(F.array(*rows)))
        table.write.format("delta").mode("overwrite").save(self._path)


def _row(kind: str, topic: str, partition: int | None, position: PackedSequence) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        F.lit(topic).alias("topic"),
        F.lit(partition).cast("int").alias("partition"),
        F.lit(position.hi).cast("bigint").alias("hi"),
        F.lit(position.lo).cast("bigint").alias("lo"),
    )
