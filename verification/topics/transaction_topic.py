"""Compares `<prefix>.transaction` with the beginnings and ends of the log's transactions.

These records have no sequences. They are compared in their order, byte by byte, because nothing in
them depends on the run that wrote them. Records before the first expected one are of the time
before the range, and records after the last one of the time after it.

The topic keeps its records for a shorter time than the others. If it has lost its oldest ones, the
comparison begins where log and topic meet: each side waits while the other one is older.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from connector.foundation.contract import TRANSACTION_TOPIC_SUFFIX, control_topic
from connector.foundation.record_formats import read_document
from verification.topics.outcome import EXPIRED, QUARANTINED, TRANSACTION, Example, Outcome

# Whether records before a time, in milliseconds, are gone, and those from that time on.
ReadSince = Callable[[int], tuple[bool, Iterator[Any]]]

# How far ahead an expected record is looked for, before it counts as missing.
_AHEAD_MAX: Final = 2000
# The times of commits are not exactly in the order of the log.
_OUT_OF_ORDER_MS: Final = 60_000


class _Expected(NamedTuple):
    key: bytes
    value: bytes
    partial: bool  # rows of the transaction are in quarantine, so its counts are others


class TransactionTopic:
    """The transaction records of the topic, next to the expected ones."""

    def __init__(
        self,
        outcome: Outcome,
        prefix: str,
        read_since: ReadSince,
        *,
        shared_prefix: bool,
    ) -> None:
        """Compare with the committed records of the topic, which `read_since` returns.

        If other pipelines write to it too (`shared_prefix`), unexpected records are theirs.
        """
        self.topic = control_topic(prefix, TRANSACTION_TOPIC_SUFFIX)
        self._outcome = outcome
        self._read_since = read_since
        # None before the first expected record is known.
        self._records: Iterator[Any] | None = None
        # Whether the topic may have lost records of the range, as none of it was found yet.
        self._has_lost = False
        self._shared_prefix = shared_prefix
        self._ahead: deque[Any] = deque()
        self._begun: tuple[bytes, bytes] | None = None
        # Expected records before the first one that was found; None when it was.
        self._waiting: list[_Expected] | None = []
        # What was found last, to recognise what comes again.
        self._recent: deque[tuple[bytes, str]] = deque(maxlen=_AHEAD_MAX)

    def expect(self, key: bytes, value: bytes, *, partial: bool) -> None:
        """Compare a record; that of a beginning waits for its end, which knows `partial`."""
        if self._begun is None:
            self._begun = key, value
            return
        both = [_Expected(*self._begun, partial), _Expected(key, value, partial)]
        self._begun = None
        if self._waiting is None:
            for expected in both:
                self._compare(expected)
            return
        self._waiting += both
        if len(self._waiting) >= _AHEAD_MAX:
            self._align(self._waiting)

    def begin(self) -> None:
        """Begin a range that does not follow the one before: what lies between is not compared."""
        if self._waiting:
            self._align(self._waiting)
        self._waiting = []

    def finish(self) -> None:
        """Judge what has not been found yet, and what the topic has more than once."""
        if self._waiting is not None:
            self._align(self._waiting)
        recent = set(self._recent)
        while self._look(0):
            record = self._ahead.popleft()
            if _name(record.key, record.value) in recent:
                self._differs("repeated", record.key, record)

    def _align(self, waiting: list[_Expected]) -> None:
        """Find the first record of the topic that is expected, and compare from there on.

        If the topic has lost what is waiting, count it as expired, and go on waiting.
        """
        self._waiting = None
        if self._records is None:
            since = min((_time(expected.value) for expected in waiting), default=0)
            self._has_lost, self._records = self._read_since(since - _OUT_OF_ORDER_MS)
        numbers = {
            _name(expected.key, expected.value): number for number, expected in enumerate(waiting)
        }
        if self._has_lost:
            met = self._meet(numbers, min((_time(each.value) for each in waiting), default=0))
            first = len(waiting) if met is None else met
            counts = self._outcome.of(self.topic)
            counts.expected += first
            counts.others[EXPIRED] += first
            if met is None:
                self._waiting = []
                return
            self._has_lost = False
        else:
            first = 0
            while self._look(0) and self._name_ahead(0) not in numbers:
                self._ahead.popleft()
        for expected in waiting[first:]:
            self._compare(expected)

    def _meet(self, numbers: dict[tuple[bytes, str], int], since_ms: int) -> int | None:
        """Return the number of the first waiting record that the topic has; None if it has none.

        It leaves out records of the topic that are older than `since_ms`, the time of the oldest
        waiting one. If those that come next are younger, the topic has lost what is waiting.
        """
        while self._look(0):
            self._look(_AHEAD_MAX - 1)
            for place in range(len(self._ahead)):
                number = numbers.get(self._name_ahead(place))
                if number is not None:
                    for _ in range(place):
                        self._ahead.popleft()
                    return number
            if max(_time(record.value) for record in self._ahead) >= since_ms:
                break
            self._ahead.clear()
        return None

    def _name_ahead(self, place: int) -> tuple[bytes, str]:
        record = self._ahead[place]
        return _name(record.key, record.value)

    def _compare(self, expected: _Expected) -> None:
        counts = self._outcome.of(self.topic)
        counts.expected += 1
        name = _name(expected.key, expected.value)
        for ahead in range(_AHEAD_MAX):
            if not self._look(ahead):
                break
            record = self._ahead[ahead]
            if _name(record.key, record.value) != name:
                continue
            for _ in range(ahead):
                self._unexpected(self._ahead.popleft())
            self._ahead.popleft()
            self._recent.append(name)
            if record.value == expected.value or expected.partial:
                counts.found += 1
            else:
                self._differs("its counts are others", record.key, record)
            return
        if expected.partial:
            counts.others[QUARANTINED] += 1
        else:
            self._lacks(name[1], expected.key)

    def _unexpected(self, record: Any) -> None:
        if _name(record.key, record.value) in self._recent:
            self._differs("repeated", record.key, record)
        elif not self._shared_prefix:
            self._differs("surplus", record.key, record)

    def _look(self, ahead: int) -> bool:
        """Return whether the topic has so many records more than one."""
        assert self._records is not None
        while len(self._ahead) <= ahead:
            record = next(self._records, None)
            if record is None:
                return False
            self._ahead.append(record)
        return True

    def _lacks(self, what: str, key: bytes) -> None:
        text = f"{what} is missing"
        offset = None
        if self._look(0):
            offset = self._ahead[0].offset
            text += " before this offset"
        self._outcome.differs(Example(TRANSACTION, self.topic, 0, offset, "", _id(key), text))

    def _differs(self, what: str, key: bytes, record: Any) -> None:
        self._outcome.differs(
            Example(TRANSACTION, self.topic, 0, record.offset, "", _id(key), what)
        )


def _name(key: bytes, value: bytes | None) -> tuple[bytes, str]:
    """Return what distinguishes a record from all others: its key, and BEGIN or END."""
    return key, "BEGIN" if value is not None and value.startswith(b'{"status":"BEGIN"') else "END"


def _time(value: bytes | None) -> int:
    """Return the time of a record in milliseconds; 0 for one that no connector has written."""
    try:
        return int(read_document(value or b"")["ts_ms"])
    except (ValueError, TypeError, KeyError):
        return 0


def _id(key: bytes) -> str:
    try:
        identifier = read_document(key)["id"]
    except (ValueError, TypeError, KeyError):
        return ""
    return str(identifier)
