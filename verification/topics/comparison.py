"""Compares what the log says has to exist with what the topics hold, record by record.

The encoder of the pipeline writes the expected records into a `Comparison`. Both sides have the
order of their sequences, so one record of each side is enough to compare:

- an expected record is the next one of its partition, or it is *missing*. It may be in quarantine,
  or older than what the partition has kept;
- a record of a topic that comes before the next expected one is *repeated* if its partition has
  had its sequence. Between two transactions, it belongs to a copy or a replay. Otherwise it is
  *surplus*.

A missing record that is found later is in the wrong partition, or out of order.
"""

from typing import Any, Final

from mypy_extensions import i64

from connector.foundation import contract
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget, partition_of
from verification.topics import outcome, topic_records
from verification.topics.missing_records import MissingRecords
from verification.topics.record_difference import RegistryValues, difference
from verification.topics.transaction_topic import TransactionTopic

# In encoded headers: a count of one byte, then the name with its length and the value's length.
_SEQ_AT: Final = 1 + 1 + len(contract.HEADER_SEQ) + 1


class Comparison(RecordTarget):
    """Takes the expected records in their order, and compares them with the topics."""

    def __init__(
        self,
        counts: outcome.Outcome,
        topics: topic_records.TopicRecords,
        missing: MissingRecords,
        transactions: TransactionTopic | None,
        ddl_topic: str,
        *,
        shared_prefix: bool,
        values: RegistryValues,
    ) -> None:
        """Write counts and differences to `counts`; `values` has the ids of schemas.

        If other pipelines write to `ddl_topic`
        (`shared_prefix`), unexpected records there are theirs.
        """
        self._outcome = counts
        self.values = values
        self._findings = missing.findings
        self.missing = missing
        self._topics = topics
        self._transactions = transactions
        self._ddl_topic = ddl_topic
        self._shared_prefix = shared_prefix
        # Records from the first to before the second sequence belong to no range.
        self._outside: list[tuple[bytes, bytes]] = []
        # The end of the last range, and whether the next one has begun.
        self._upper = b""
        self._begun = False
        # The first digits of records between the last transaction and the next one.
        self._between = b""
        # Events of which some rows may be in topic or quarantine: topic and digits.
        self._unchecked: tuple[str, bytes] = ("", b"")
        # A record that may be there, because the topics do not say whether it has to.
        self._optional: set[tuple[str, bytes]] = set()
        # The highest sequence after the last range; empty without a record there.
        self.newest = b""
        # The keys of schema records that the rows need.
        self.schema_keys: set[bytes] = set()

    def begin(self, lower: contract.Sequence) -> None:
        """Begin a range: records between the range before and `lower` are not looked at."""
        digits = str(lower).encode()
        self._topics.skip_to(digits)
        if self._outside and self._transactions is not None:
            self._transactions.begin()
        self._outside.append((self._upper, digits))
        self._between = digits[: topic_records.TRANSACTION_DIGITS]
        self._begun = True

    def go_on(self, lower: contract.Sequence) -> None:
        """Begin a range that follows the one before without a gap."""
        digits = str(lower).encode()
        self._pass_below(digits)
        self._between = digits[: topic_records.TRANSACTION_DIGITS]
        self._begun = True

    def end(self, upper: contract.Sequence) -> None:
        """End a range: records from `upper` on come after it."""
        if not self._begun:
            # Not a transaction was read.
            self.begin(upper)
        self._upper = str(upper).encode()
        self._pass_below(self._upper)
        self._between = b""
        self._begun = False

    def enter(self, start: contract.Sequence) -> None:
        """Begin a transaction; `start` is its lowest sequence."""
        if not self._begun:
            self.begin(start)
        self._pass_below(str(start).encode())
        self._report_unnumbered()
        self._optional.clear()
        self.missing.partial = False

    def leave(self, end: contract.Sequence) -> None:
        """End a transaction; `end` is the lowest sequence between it and the next one."""
        self._pass_below(str(end).encode())
        self._between = str(end).encode()[: topic_records.TRANSACTION_DIGITS]

    def finish(self) -> None:
        """Look at the rest of the topics, after the last range."""
        while (lane := self._topics.lowest()) is not None:
            if lane.records[0][0] < self._upper:
                self._unexpected(lane)
            else:
                self.newest = max(self.newest, lane.records[0][0])
                self._settle(lane.topic, self._topics.take(lane))
        self.missing.finish()
        self._report_unnumbered()
        if self._transactions is not None:
            self._transactions.finish()

    def optional(self, topic: str, sequence: contract.Sequence) -> None:
        """Accept a record with this sequence, without expecting one."""
        self._optional.add((topic, str(sequence).encode()))

    def unpublishable(self, topic: str, sequence: contract.Sequence) -> None:
        """Expect the row with `sequence` in quarantine, and accept the later rows of its event."""
        digits = str(sequence).encode()
        self._unchecked = (topic, digits[: topic_records.EVENT_DIGITS])
        self.missing.unpublishable(topic, digits)

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Compare an expected record with the topic."""
        del timestamp_ms
        if headers == NO_HEADERS:
            if self._transactions is not None and topic == self._transactions.topic:
                self._transactions.expect(key or b"", value or b"", partial=self.missing.partial)
            elif key is not None:
                self.schema_keys.add(key)
            return
        counts = self._outcome.of(topic)
        counts.expected += 1
        sequence = headers[_SEQ_AT : _SEQ_AT + contract.SEQ_DIGITS]
        lanes = self._topics.by_topic.get(topic)
        lane = lanes[partition_of(key, len(lanes))] if lanes else None
        self._pass_below(sequence)
        while lane is not None and lane.records and lane.records[0][0] == sequence:
            record = lane.records[0][1]
            if (record.value is None) == (value is None):
                self._topics.take(lane)
                self.missing.found = True
                what = difference(record, key, value, headers, self.values)
                if what:
                    self._findings.differs(outcome.DIFFERENT, record, sequence, what)
                else:
                    counts.found += 1
                return
            if value is not None:
                break
            self._topics.take(lane)
            self._findings.differs(outcome.REPEATED, record, sequence)
        self.missing.explain(topic, lane, sequence, headers, is_tombstone=value is None)

    def _pass_below(self, sequence: bytes) -> None:
        """Judge the records of the topics that come before `sequence`."""
        topics = self._topics
        while (lane := topics.lowest()) is not None and lane.records[0][0] < sequence:
            self._unexpected(lane)

    def _unexpected(self, lane: topic_records.PartitionBuffer) -> None:
        sequence, record = lane.records[0]
        repeats = not lane.follows
        self._topics.take(lane)
        topic = lane.topic
        self._settle(topic, record)
        if any(begin <= sequence < end for begin, end in self._outside):
            return
        if self._findings.came_late(record, sequence):
            return
        if repeats:
            self._findings.differs(outcome.REPEATED, record, sequence)
        elif sequence.startswith(self._between) and self._between:
            self._outcome.of(topic).others[
                outcome.COPIED if _is_of_copy(record) else outcome.REPLAYED
            ] += 1
        elif self._unchecked == (topic, sequence[: topic_records.EVENT_DIGITS]):
            self._outcome.of(topic).others[outcome.UNCHECKED] += 1
        elif (topic, sequence) in self._optional:
            self._outcome.of(topic).expected += 1
            self._outcome.of(topic).found += 1
        elif topic != self._ddl_topic or not self._shared_prefix:
            self._findings.differs(outcome.SURPLUS, record, sequence)

    def _settle(self, topic: str, record: Any) -> None:
        if self.missing.is_unsettled(topic) and _is_of_copy(record):
            self.missing.settle(topic)

    def _report_unnumbered(self) -> None:
        for record in self._topics.unnumbered:
            self._findings.differs(outcome.SURPLUS, record, b"", "it has no header cdc.seq")
        self._topics.unnumbered.clear()


def _is_of_copy(record: Any) -> bool:
    """Return whether a record between two transactions is of a copy: a replay has other ones."""
    op = topic_records.header_of(record, contract.HEADER_OP)
    if op in (contract.OP_READ.encode(), contract.OP_TRUNCATE.encode()):
        return True
    # A copy takes rows back, and its transaction is named by its own position; a replay has that of
    # the change.
    digits = topic_records.sequence_of(record)
    if op != contract.OP_DELETE.encode() or digits is None:
        return False
    position = contract.Sequence.parse(digits.decode()).position + 1
    return (topic_records.header_of(record, contract.HEADER_TXN) or b"").endswith(b":%d" % position)
