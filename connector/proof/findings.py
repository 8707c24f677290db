"""Differences between the log and the topics, each with its place, in the outcome of a proof."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from connector.contract import HEADER_TXN
from connector.proof.headers import header_of
from connector.proof.outcome import MISPLACED, MISSING, OUT_OF_ORDER, Example, Outcome

if TYPE_CHECKING:
    from connector.proof.lane import Lane

# Missing records that may still turn up elsewhere.
_AWAITED_MAX: Final = 100_000


class Findings:
    """Writes differences to an outcome, and recognises missing records that come later."""

    def __init__(self, outcome: Outcome) -> None:
        """Write to `outcome`."""
        self._outcome = outcome
        self._awaited: OrderedDict[tuple[str, bytes, bool], Example] = OrderedDict()

    def differs(self, kind: str, record: Any, sequence: bytes, what: str = "") -> None:
        """Count a record of a topic as a difference."""
        transaction = header_of(record, HEADER_TXN) or b""
        self._outcome.differs(
            Example(
                kind,
                record.topic,
                record.partition,
                record.offset,
                sequence.decode(),
                transaction.decode(errors="replace"),
                what,
            )
        )

    def lacks(
        self, topic: str, lane: Lane | None, sequence: bytes, transaction: str, what: str
    ) -> Example:
        """Count a record as missing in the partition of `lane`.

        Its place is the offset of the next record, or the end.
        """
        partition = None if lane is None else lane.partition.partition
        offset = None
        if lane is not None:
            offset = lane.records[0][1].offset if lane.records else lane.end
            what = f"{what} before this offset".lstrip()
        example = Example(MISSING, topic, partition, offset, sequence.decode(), transaction, what)
        self._outcome.differs(example)
        return example

    def awaits(self, example: Example, *, is_tombstone: bool) -> None:
        """Expect a missing record in another place."""
        self._awaited[example.topic, example.seq.encode(), is_tombstone] = example
        if len(self._awaited) > _AWAITED_MAX:
            self._awaited.popitem(last=False)

    def came_late(self, record: Any, sequence: bytes) -> bool:
        """Return whether a record was missed before; it is then in a wrong place instead."""
        awaited = self._awaited.pop((record.topic, sequence, record.value is None), None)
        if awaited is None:
            return False
        self._outcome.takes_back(awaited)
        kind = OUT_OF_ORDER if record.partition == awaited.partition else MISPLACED
        self.differs(kind, record, sequence)
        return True
