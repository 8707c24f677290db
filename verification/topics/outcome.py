"""What a proof has found: counts of each topic, differences with examples, and the range.

A record may be absent because its partition has lost it, its topic is compacted, its columns are
not known, or it is in quarantine. A record that comes later than expected is in the wrong
partition, or out of order.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from connector.foundation.contract import HEADER_TXN
from connector.foundation.control_records import QuarantineRecord
from connector.foundation.kafka_records import decode_headers
from connector.foundation.settings.sections import Settings
from connector.stream.envelope.options import Topics
from connector.stream.quarantine.records import GONE, ROWS
from connector.stream.quarantine.topics import read_all
from verification.topics.topic_records import EVENT_DIGITS, PartitionBuffer, header_of, row_of

# Differences: what a topic has, compared with what the log says it has to have.
MISSING: Final = "missing"
REPEATED: Final = "repeated"
SURPLUS: Final = "surplus"
DIFFERENT: Final = "different"
MISPLACED: Final = "wrong partition"
OUT_OF_ORDER: Final = "out of order"
TRANSACTION: Final = "transaction record"
SCHEMA: Final = "schema record"
PROGRESS: Final = "progress record"

# What is not a difference, and not compared with the log either.
COPIED: Final = "copied"
REPLAYED: Final = "replayed"
QUARANTINED: Final = "in quarantine"
UNCHECKED: Final = "beside a row in quarantine"
EXPIRED: Final = "expired"
COMPACTED: Final = "maybe compacted"
UNNAMED: Final = "columns unknown"
STATED: Final = "logged as a statement"
OTHERS: Final = "of other writers"

# Examples of each kind of difference.
_EXAMPLES_MAX: Final = 20


@dataclass(slots=True)
class TopicCounts:
    """The records of one topic, tombstones too."""

    expected: int = 0  # the log says they have to exist
    found: int = 0  # of them, found once, in place, and equal
    differences: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    # The first sequence of a partition that has lost older records, by partition.
    kept_since: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """One difference; it names no value of a row."""

    kind: str
    topic: str
    partition: int | None
    offset: int | None  # in the topic; of the next record if this one is missing
    seq: str
    transaction: str
    what: str  # more about it, or ""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the source's log."""

    file: str
    position: int
    gtid_set: str | None


@dataclass(slots=True)
class EpochOutcome:
    """What was proven of one epoch, all of whose positions are in the log of one server."""

    number: int
    source: str  # HOST:PORT
    server_uuid: str
    # None if nothing could be proven.
    start: Place | None = None
    end: Place | None = None
    transactions: int = 0
    # Why the epoch, or what lies before `start`, cannot be proven; "" if there is no such part.
    unproven: str = ""


@dataclass(slots=True)
class Outcome:
    """The result of a proof, which grows while it runs."""

    epochs: list[EpochOutcome] = field(default_factory=list)
    # Whether a part of the range that was asked for could not be proven.
    has_gap: bool = False
    progress_records: int = 0
    topics: dict[str, TopicCounts] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    seconds: float = 0.0
    _shown: Counter[str] = field(default_factory=Counter)

    @property
    def differences(self) -> Counter[str]:
        """The number of differences of each kind."""
        total: Counter[str] = Counter()
        for counts in self.topics.values():
            total.update(counts.differences)
        return +total

    @property
    def others(self) -> Counter[str]:
        """The number of records of each kind that were not compared."""
        total: Counter[str] = Counter()
        for counts in self.topics.values():
            total.update(counts.others)
        return +total

    @property
    def expected(self) -> int:
        """The records that have to exist."""
        return sum(counts.expected for counts in self.topics.values())

    @property
    def found(self) -> int:
        """The records that exist once, in place, and equal."""
        return sum(counts.found for counts in self.topics.values())

    @property
    def transactions(self) -> int:
        """The transactions of the log that were read."""
        return sum(epoch.transactions for epoch in self.epochs)

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    def of(self, topic: str) -> TopicCounts:
        """Return the counts of a topic."""
        counts = self.topics.get(topic)
        if counts is None:
            counts = self.topics[topic] = TopicCounts()
        return counts

    def differs(self, example: Example) -> None:
        """Count a difference, and keep the first ones of each kind."""
        self.of(example.topic).differences[example.kind] += 1
        self._shown[example.kind] += 1
        if self._shown[example.kind] <= _EXAMPLES_MAX:
            self.examples.append(example)

    def takes_back(self, example: Example) -> None:
        """Remove a difference that turned out to be another one."""
        self.of(example.topic).differences[example.kind] -= 1
        self._shown[example.kind] -= 1
        if example in self.examples:
            self.examples.remove(example)

    def as_json(self) -> dict[str, object]:
        """Return the report for machines."""
        return {
            "equal": self.is_equal,
            "gap": self.has_gap,
            "epochs": [
                {
                    "epoch": epoch.number,
                    "source": epoch.source,
                    "server_uuid": epoch.server_uuid,
                    "from": _place(epoch.start),
                    "to": _place(epoch.end),
                    "transactions": epoch.transactions,
                    "unproven": epoch.unproven,
                }
                for epoch in self.epochs
            ],
            "transactions": self.transactions,
            "records": {"expected": self.expected, "found": self.found},
            "differences": dict(self.differences),
            "others": dict(self.others),
            "progress_records": self.progress_records,
            "topics": {
                name: {
                    "expected": counts.expected,
                    "found": counts.found,
                    "differences": dict(+counts.differences),
                    "others": dict(counts.others),
                    "kept_since": counts.kept_since,
                }
                for name, counts in sorted(self.topics.items())
            },
            "examples": [
                {
                    "kind": example.kind,
                    "topic": example.topic,
                    "partition": example.partition,
                    "offset": example.offset,
                    "seq": example.seq,
                    "transaction": example.transaction,
                    "what": example.what,
                }
                for example in self.examples
            ],
            "seconds": round(self.seconds, 3),
        }


def _place(place: Place | None) -> dict[str, object] | None:
    if place is None:
        return None
    return {"file": place.file, "position": place.position, "gtid_set": place.gtid_set}


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
        quarantine: "QuarantinedRecords",
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
