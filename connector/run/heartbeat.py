"""Records in `<prefix>.heartbeat`, which are also written while the source is idle.

::

    key {"serverName": prefix}   value {"ts_ms": 1700000000000}

Each is committed with the current progress, as Debezium does with its offsets.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from connector.contract import HEARTBEAT_TOPIC_SUFFIX, control_topic
from connector.records.record import NO_HEADERS

if TYPE_CHECKING:
    from connector.records.record import RecordTarget
    from connector.run.heartbeat_statement import HeartbeatStatement
    from connector.system.clock import Clock

_NS_PER_MS = 1_000_000


class Heartbeat:
    """An attendant that writes a record each time the interval has passed."""

    def __init__(
        self,
        prefix: str,
        interval_seconds: float,
        target: RecordTarget,
        clock: Clock,
        statement: HeartbeatStatement | None = None,
    ) -> None:
        """Write to `target`, the first one at once; `statement` is executed with each."""
        self._topic = control_topic(prefix, HEARTBEAT_TOPIC_SUFFIX)
        self._key = _json({"serverName": prefix})
        self._interval_seconds = interval_seconds
        self._target = target
        self._clock = clock
        self._statement = statement
        self._next = clock.monotonic()

    @property
    def wants_turn(self) -> bool:
        """Whether the interval has passed."""
        return self._clock.monotonic() >= self._next

    @property
    def patience_seconds(self) -> float:
        """Seconds until the next record."""
        return max(0.0, self._next - self._clock.monotonic())

    def step(self) -> None:
        """Write a record if the interval has passed."""
        if not self.wants_turn:
            return
        self._next = self._clock.monotonic() + self._interval_seconds
        now_ms = self._clock.time_ns() // _NS_PER_MS
        self._target.take(self._topic, self._key, _json({"ts_ms": now_ms}), NO_HEADERS, now_ms)
        if self._statement is not None:
            self._statement.ask()

    def close(self) -> None:
        """End the session of the statement."""
        if self._statement is not None:
            self._statement.close()


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
