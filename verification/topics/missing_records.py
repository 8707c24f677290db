"""Says why expected records are not there, and recognises those that come later.

A record may be absent because its partition has lost it, its topic is compacted, or it is in
quarantine. A record that comes later than expected is in the wrong partition, or out of order.

*Rows without column names.* If the log does not name the columns of a table, the pipeline asks the
server. When a statement has changed the table since the rows, it drops their events as a whole,
and copies the table. So an event of which no record is there is no difference if two things are
true: it is before the first event since the last statement on the table of which a record is
there, and a copy of the table comes after it, or is under way. Until a copy comes, such records
are *unsettled*.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from connector.foundation.contract import HEADER_TXN
from connector.foundation.control_records import QuarantineRecord
from connector.foundation.kafka_records import decode_headers
from connector.stream.envelope.options import Topics
from connector.stream.quarantine.fences import ALL_TABLES
from connector.stream.quarantine.records import GONE, ROWS, STATEMENT, WITHHELD
from verification.topics.outcome import (
    COMPACTED,
    EXAMPLES_MAX,
    EXPIRED,
    MISPLACED,
    MISSING,
    OUT_OF_ORDER,
    QUARANTINED,
    STATED,
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

    def lacks(self, example: Example) -> None:
        """Count a record as missing."""
        self._outcome.differs(example)

    def awaits(self, example: Example, *, is_tombstone: bool) -> None:
        """Count a record as missing that may be in another place."""
        self._outcome.differs(example)
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


@dataclass(slots=True)
class _Unsettled:
    """Absent records of one topic, until a copy of their tables comes."""

    kinds: dict[str, int] = field(default_factory=dict)  # what they are if a copy comes
    tables: set[str] = field(default_factory=set)
    examples: list[Example] = field(default_factory=list)  # the first ones


class MissingRecords:
    """Counts records that are not there, by their reason."""

    def __init__(
        self,
        outcome: Outcome,
        quarantine: "QuarantinedRecords",
        compacted: frozenset[str],
        copied: frozenset[str],
    ) -> None:
        """Write to `outcome`; topics in `compacted` may have lost any record.

        `copied` are the tables, as `database.table`, with a copy under way.
        """
        self.findings = Findings(outcome)
        self._outcome = outcome
        self._quarantine = quarantine
        self._compacted = compacted
        self._copied = copied
        # Tables of which a record was there since the last statement on them.
        self._named: set[str] = set()
        # Of an event that the pipeline may have dropped: what is absent, and whether a tombstone.
        self._event: list[tuple[Example, bool]] | None = None
        # Whether a record of this event was there.
        self.found = False
        self._unsettled: dict[str, _Unsettled] = {}
        # Whether rows of the current transaction are in quarantine.
        self.partial = False

    def begin_unnamed(self, name: str) -> None:
        """Begin an event whose columns the log does not name; `name` is `database.table`."""
        self.found = False
        if name not in self._named:
            self._event = []

    def end_unnamed(self, name: str) -> None:
        """Judge the records of the event that are absent."""
        absent, self._event = self._event, None
        if absent is None:
            return
        if self.found:
            self._named.add(name)
            for example, is_tombstone in absent:
                self.findings.awaits(example, is_tombstone=is_tombstone)
        elif absent:
            self.partial = True
            for example, _ in absent:
                self._wait(UNNAMED, name, example)

    def forget(self, database: str, table: str) -> None:
        """Note a statement on a table, or on all of `database` if `table` is ""."""
        if table:
            self._named.discard(f"{database}.{table}")
        else:
            start = f"{database}."
            self._named = {name for name in self._named if not name.startswith(start)}

    def unpublishable(self, topic: str, sequence: bytes) -> None:
        """Expect a row in quarantine."""
        self.partial = True
        self._outcome.of(topic).expected += 1
        if self._quarantine.has(sequence, topic):
            self._outcome.of(topic).others[QUARANTINED] += 1
        else:
            what = "it cannot be published, nor is it in quarantine"
            example = Example(MISSING, topic, None, None, sequence.decode(), "", what)
            if self._event is None:
                self.findings.lacks(example)
            else:
                self._event.append((example, False))

    def leave_out(self, topic: str, kind: str, count: int) -> None:
        """Count changes of which nobody can say which records they have."""
        self._outcome.of(topic).others[kind] += count

    def stated(
        self, topic: str, database: str, table: str | None, sequence: bytes, transaction: str
    ) -> None:
        """Expect a statement without rows in quarantine, or a copy of its table after it."""
        if self._quarantine.has_statement(sequence, database, table):
            self._outcome.of(topic).others[STATED] += 1
            return
        what = "it is logged as a statement, and not in quarantine"
        example = Example(MISSING, topic, None, None, sequence.decode(), transaction, what)
        if table is None:
            self.findings.lacks(example)
        else:
            self._wait(STATED, f"{database}.{table}", example)

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
        else:
            example = _missing(topic, lane, sequence, headers, is_tombstone=is_tombstone)
            if self._event is None:
                self.findings.awaits(example, is_tombstone=is_tombstone)
            else:
                self._event.append((example, is_tombstone))

    def is_unsettled(self, topic: str) -> bool:
        """Whether a copy would explain absent records of a topic."""
        return topic in self._unsettled

    def settle(self, topic: str) -> None:
        """Excuse the absent records of a topic: a copy has come, or all rows are gone."""
        unsettled = self._unsettled.pop(topic, None)
        if unsettled is not None:
            self._outcome.of(topic).others.update(unsettled.kinds)

    def finish(self) -> None:
        """Count what is unsettled as missing, except for tables with a copy under way."""
        for topic, unsettled in list(self._unsettled.items()):
            if unsettled.tables <= self._copied:
                self.settle(topic)
                continue
            for example in unsettled.examples:
                self.findings.lacks(example)
            more = sum(unsettled.kinds.values()) - len(unsettled.examples)
            self._outcome.of(topic).differences[MISSING] += more
        self._unsettled.clear()

    def _wait(self, kind: str, name: str, example: Example) -> None:
        unsettled = self._unsettled.setdefault(example.topic, _Unsettled())
        unsettled.kinds[kind] = unsettled.kinds.get(kind, 0) + 1
        unsettled.tables.add(name)
        if len(unsettled.examples) < EXAMPLES_MAX:
            unsettled.examples.append(example)


def _missing(
    topic: str, lane: PartitionBuffer | None, sequence: bytes, headers: bytes, *, is_tombstone: bool
) -> Example:
    """Return a missing record; its place is the offset of the next record, or the end."""
    transaction = dict(decode_headers(headers)).get(HEADER_TXN, b"").decode()
    if lane is None:
        return Example(
            MISSING, topic, None, None, sequence.decode(), transaction, "the topic is missing"
        )
    offset = lane.records[0][1].offset if lane.records else lane.end
    what = f"{'a tombstone' * is_tombstone} before this offset".lstrip()
    partition = lane.partition.partition
    return Example(MISSING, topic, partition, offset, sequence.decode(), transaction, what)


class QuarantinedRecords:
    """The records of the quarantine; sequences are asked for in their order."""

    def __init__(self, records: Iterable[QuarantineRecord], topics: Topics) -> None:
        """Read `records`, in the order of the topic; `topics` are those of the tables."""
        self._topics = topics
        self._records: Iterator[QuarantineRecord] = iter(records)
        self._next: QuarantineRecord | None = None
        self._event = b""
        # The records of `_event`.
        self._kept: list[QuarantineRecord] = []

    def has(self, sequence: bytes, topic: str) -> bool:
        """Return whether the change with `sequence` of the table of `topic` is kept back.

        Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
        """
        row = row_of(sequence)
        return any(
            self._topics.of(record["database"], record["table"]) == topic
            and (record["kind"] == GONE or _has_row(record, row))
            for record in self._of_event(sequence)
        )

    def has_statement(self, sequence: bytes, database: str, table: str | None) -> bool:
        """Return whether the statement with `sequence` on a table is kept back; raises as `has`.

        None is any table of the database.
        """
        return any(
            record["kind"] == STATEMENT
            and record["database"] == database
            and record["table"] == (table or ALL_TABLES)
            for record in self._of_event(sequence)
        )

    def _of_event(self, sequence: bytes) -> list[QuarantineRecord]:
        event = sequence[:EVENT_DIGITS]
        if event != self._event:
            self._event = event
            self._kept = self._read_to(event)
        return self._kept

    def _read_to(self, event: bytes) -> list[QuarantineRecord]:
        records: list[QuarantineRecord] = []
        while True:
            record = self._next or next(self._records, None)
            self._next = record
            if record is None or (of := record["seq"].encode()[:EVENT_DIGITS]) > event:
                return records
            self._next = None
            if of == event:
                records.append(record)


def _has_row(record: QuarantineRecord, row: int) -> bool:
    rest = record["rest"]
    return record["kind"] in (ROWS, WITHHELD) and (
        (rest is not None and row >= rest)
        or any(row_record["row"] == row for row_record in record["rows"])
    )
