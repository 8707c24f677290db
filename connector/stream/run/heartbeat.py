"""Heartbeats: records in `<prefix>.heartbeat`, and a statement at the source.

::

    key {"serverName": prefix}   value {"ts_ms": 1700000000000}

Each record is committed with the current progress, as Debezium does with its offsets. It is also
written while the source is idle. The statement lets the log of an idle source grow (Debezium's
`heartbeat.action.query`). It has a thread and a session of its own, because the stream must not
wait for a lock at the source.
"""

import json
from threading import Event

import structlog

from connector.foundation.contract import HEARTBEAT_TOPIC_SUFFIX, control_topic
from connector.foundation.errors import ConnectorError
from connector.foundation.errors.kinds import line
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.foundation.operating_system import Background, Clock
from connector.foundation.settings.sections import SourceSettings
from connector.stream.run import run_errors
from connector.stream.source.select_session import SelectSession


class HeartbeatStatement(Background):
    """A thread that executes `source.heartbeat_statement` when it is asked to.

    A failure is a warning in the log, once for each cause, and the next execution tries again on a
    new session.
    """

    def __init__(self, settings: SourceSettings) -> None:
        """Execute at the server of `settings`; the thread starts when it is first asked."""
        super().__init__("heartbeat statement")
        self._settings = settings
        self._asked = Event()
        self._session: SelectSession | None = None
        self._reported = ""

    def ask(self) -> None:
        """Let the statement be executed once; does not wait."""
        if self._thread.ident is None:
            self.start()
        self._asked.set()

    def close(self) -> None:
        """End a statement that still runs, and the thread."""
        self._closed.set()
        self._asked.set()
        session = self._session
        if session is not None:
            session.close()
        super().close()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._closed.is_set():
                break
            try:
                self._execute()
            except ConnectorError as error:
                self._end_session()
                self._report(error)
            else:
                self._reported = ""
        self._end_session()

    def _execute(self) -> None:
        if self._session is None:
            self._session = SelectSession(self._settings)
        self._session.query(self._settings.heartbeat_statement)

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _report(self, error: ConnectorError) -> None:
        reason = str(error.message.facts.get("said", error.message.what))
        if reason != self._reported and not self._closed.is_set():
            self._reported = reason
            log = structlog.get_logger()
            log.warning(**line(run_errors.HEARTBEAT_FAILED, said=reason))


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
        return self._clock.monotonic() >= self._next

    @property
    def patience_seconds(self) -> float:
        return max(0.0, self._next - self._clock.monotonic())

    def step(self) -> None:
        """Write a record if the interval has passed."""
        if not self.wants_turn:
            return
        self._next = self._clock.monotonic() + self._interval_seconds
        now_ms = self._clock.now_ms()
        self._target.take(self._topic, self._key, _json({"ts_ms": now_ms}), NO_HEADERS, now_ms)
        if self._statement is not None:
            self._statement.ask()

    def close(self) -> None:
        if self._statement is not None:
            self._statement.close()


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
