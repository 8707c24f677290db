"""What a proof has found: counts of each topic, differences with examples, and the range."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

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
EXAMPLES_MAX: Final = 20


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
        if self._shown[example.kind] <= EXAMPLES_MAX:
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
