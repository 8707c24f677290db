"""Differences between the log and the topics, and the reasons why a record may be missing.

A record may be absent because its partition has lost it, its topic is compacted, its columns are
not known, or it is in quarantine. A record that comes later than expected is in the wrong
partition, or out of order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from connector.foundation.contract import HEADER_TXN
from connector.foundation.control_records import QuarantineRecord
from connector.foundation.kafka_records import decode_headers
from connector.foundation.settings.sections import Settings
from connector.stream.envelope.options import Topics
from connector.stream.quarantine.records import GONE, ROWS
from connector.stream.quarantine.topics import read_all
from verification.topics.outcome import (
    COMPACTED,
    EXPIRED,
    MISPLACED,
    MISSING,
    OUT_OF_ORDER,
    QUARANTINED,
    UNNAMED,
    Example,
    Outcome,
)
from verification.topics.topic_records import EVENT_DIGITS, PartitionBuffer, header_of, row_of

# Missing records that may still turn up elsewhere.
_AWAITED_MAX: Final = 100_000


class Findings:
    """Writes differences to an outcome, and recognises missing records that come later."""

    def __init__(self, outcome: Outcome) -> None:
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
        self, topic: str, lane: PartitionBuffer | None, sequence: bytes, transaction: str, what: str
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


class MissingRecords:
    """Counts records that are not there, by their reason."""

    def __init__(
        self,
        outcome: Outcome,
        quarantine: QuarantinedRecords,
        compacted: frozenset[str],
    ) -> None:
        """Write to `outcome`; topics in `compacted` may have lost any record."""
        self.findings = Findings(outcome)
        self._outcome = outcome
        self._quarantine = quarantine
        self._compacted = compacted
        # Topics of tables whose columns the log does not name.
        self.unnamed: set[str] = set()
        # Whether rows of the current transaction are in quarantine.
        self.partial = False

    def unpublishable(self, topic: str, sequence: bytes) -> None:
        """Expect a row in quarantine."""
        self.partial = True
        self._outcome.of(topic).expected += 1
        if self._quarantine.has(sequence, topic):
            self._outcome.of(topic).others[QUARANTINED] += 1
        else:
            what = "it cannot be published, nor is it in quarantine"
            self.findings.lacks(topic, None, sequence, "", what)

    def leave_out(self, topic: str, kind: str, count: int) -> None:
        """Count changes of which nobody can say which records they have."""
        self._outcome.of(topic).others[kind] += count

    def explain(
        self,
        topic: str,
        lane: PartitionBuffer | None,
        sequence: bytes,
        headers: bytes,
        *,
        is_tombstone: bool,
    ) -> None:
        """Say why an expected record is not there, or that it is missing."""
        others = self._outcome.of(topic).others
        if lane is not None and lane.has_lost(sequence):
            others[EXPIRED] += 1
        elif topic in self._compacted:
            others[COMPACTED] += 1
        elif self._quarantine.has(sequence, topic):
            self.partial = True
            others[QUARANTINED] += 1
        elif topic in self.unnamed:
            self.partial = True
            others[UNNAMED] += 1
        else:
            transaction = dict(decode_headers(headers)).get(HEADER_TXN, b"").decode()
            what = "the topic is missing" if lane is None else "a tombstone" * is_tombstone
            example = self.findings.lacks(topic, lane, sequence, transaction, what)
            self.findings.awaits(example, is_tombstone=is_tombstone)


class QuarantinedRecords:
    """The records of the quarantine; sequences are asked for in their order."""

    def __init__(self, settings: Settings, topics: Topics, *, exists: bool) -> None:
        """Read the topic when something is missing; `exists` says whether there is one.

        `topics` are those of the tables.
        """
        self._topics = topics
        self._records = self._read(settings) if exists else iter(())
        self._next: QuarantineRecord | None = None
        self._event = b""
        # The records of `_event`.
        self._kept: list[QuarantineRecord] = []

    def has(self, sequence: bytes, topic: str) -> bool:
        """Return whether the change with `sequence` of the table of `topic` is kept back.

        Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
        """
        event = sequence[:EVENT_DIGITS]
        if event != self._event:
            self._event = event
            self._kept = self._of_event(event)
        row = row_of(sequence)
        return any(
            self._topics.of(record["database"], record["table"]) == topic
            and (record["kind"] == GONE or _has_row(record, row))
            for record in self._kept
        )

    def _of_event(self, event: bytes) -> list[QuarantineRecord]:
        records: list[QuarantineRecord] = []
        while True:
            record = self._next or next(self._records, None)
            self._next = record
            if record is None or (of := record["seq"].encode()[:EVENT_DIGITS]) > event:
                return records
            self._next = None
            if of == event:
                records.append(record)

    @staticmethod
    def _read(settings: Settings) -> Iterator[QuarantineRecord]:
        for _, record, _ in read_all(settings.kafka, settings.name):
            yield record


def _has_row(record: QuarantineRecord, row: int) -> bool:
    rest = record["rest"]
    return record["kind"] == ROWS and (
        (rest is not None and row >= rest)
        or any(row_record["row"] == row for row_record in record["rows"])
    )
