"""The attendant of the quarantine: it writes the counts of fences, and replays on request.

It also lifts the fences of databases whose tables need them no longer.

`open_quarantine` builds it and the guards from the settings and the fences.
"""

from collections.abc import Mapping
from typing import Any

import structlog

from connector.binlog.decoder import EventDecoder
from connector.foundation.contract import QUARANTINE_TOPIC_SUFFIX, control_topic
from connector.foundation.errors import RequestRefused
from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import KafkaSettings, Settings
from connector.stream.commands import request_errors
from connector.stream.commands.requests import arguments_of, table_name
from connector.stream.envelope.event_encoder import US_PER_MS
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.copy_guard import CopyGuard
from connector.stream.quarantine.database_fences import DatabaseFences
from connector.stream.quarantine.fences import Fence
from connector.stream.quarantine.guard import STOP, Guard
from connector.stream.quarantine.replay import Replay
from connector.stream.quarantine.store import QuarantineStore
from connector.stream.quarantine.topics import QuarantineLog
from connector.stream.sink.connection import KafkaClients
from connector.stream.sink.kafka_sink import KafkaSink

# The command in a request.
REPLAY = "replay"

# Between two turns while there is something to do.
_TURN_PATIENCE_SECONDS = 0.01


class QuarantineAttendant:
    """Writes the counts of fences, and runs replays: an `Attendant`."""

    def __init__(
        self,
        settings: KafkaSettings,
        pipeline: str,
        databases: DatabaseFences,
        encoder: RecordEncoder,
        position: StreamPosition,
        clients: KafkaClients,
        clock: Clock,
    ) -> None:
        """Continue the replays that an earlier run began."""
        self._settings = settings
        self._pipeline = pipeline
        self._fences = fences = databases.fences
        self._databases = databases
        self._encoder = encoder
        self._position = position
        self._clients = clients
        self._clock = clock
        self._replay: Replay | None = None
        # Tables with fences to replay, in the order of the requests.
        self._requested: list[tuple[str, str]] = []
        for fence in fences:
            if fence.replay is not None and (fence.database, fence.table) not in self._requested:
                self._requested.append((fence.database, fence.table))
        self._log = structlog.get_logger()

    @property
    def wants_turn(self) -> bool:
        return self._is_replaying or (
            bool(self._fences.lift_candidates) and self._databases.seconds_left <= 0
        )

    @property
    def holds_stream(self) -> bool:
        """Whether the stream must stop at its current position, so that a replay ends."""
        return self._replay is not None and self._replay.holds_stream

    @property
    def patience_seconds(self) -> float:
        left = 0.0 if self._is_replaying else self._databases.seconds_left
        return max(_TURN_PATIENCE_SECONDS, left)

    @property
    def _is_replaying(self) -> bool:
        return self._replay is not None or bool(self._requested)

    def spare_source(self) -> None:
        """Ask the source nothing for a while: it has just failed."""
        self._databases.spare_source()

    def request(self, number: int, arguments: Mapping[str, Any]) -> None:
        """Replay what is kept back of a `table` of a `database`, or of one `key` of it.

        Without such a fence, nothing happens. Raises RequestRefused for a request of another form.
        """
        asked = arguments_of(arguments, "database", "table", "key")
        names = table_name(asked.get("database"), asked.get("table"))
        database, table = self._databases.tables.logged_name(*names)
        key = asked.get("key")
        if key is not None and not isinstance(key, str):
            raise RequestRefused(request_errors.KEY_NOT_TEXT)
        fenced = self._fences.of(database, table)
        if fenced is None:
            return
        request = str(number)
        wanted = [fence for fence in fenced if key is None or key == fence.key]
        for fence in wanted:
            fence.replay = request
            # A replay of the whole table writes the changes of the key, too.
            if key is not None and fenced.whole is not None and fenced.whole.replay is None:
                fence.answered, fence.replay = request, None
                fence.reason = str(RequestRefused(quarantine_errors.REPLAY_WHOLE))
            self._fences.change(fence)
        if any(fence.replay == request for fence in wanted):
            self._requested.append((database, table))
        # The position after the request, in case that this is committed next.
        self._fences.flush(self._clock.now_ms())

    def step(self) -> None:
        """Write counts of fences, and the next piece of a replay."""
        now_us = self._clock.now_us()
        self._databases.lift(now_us // US_PER_MS)
        if self._replay is None and self._requested:
            self._begin()
        replay = self._replay
        if replay is not None:
            replay.step(now_us)
            if replay.done:
                replay.close()
                self._replay = None
                self._log.info("a replay has ended", fences_left=self._fences.count)
        self._fences.flush(now_us // US_PER_MS)

    def close(self) -> None:
        if self._replay is not None:
            self._replay.close()

    def _begin(self) -> None:
        name = self._requested.pop(0)
        wanted: list[Fence] = [
            fence for fence in self._fences.of(*name) or () if fence.replay is not None
        ]
        if not wanted:
            return
        self._log.info("replaying what is in quarantine", table=wanted[0].name, fences=len(wanted))
        self._replay = Replay(
            self._pipeline,
            wanted,
            self._fences,
            self._encoder,
            self._position,
            QuarantineLog(self._settings, min(fence.since_ms for fence in wanted), self._clients),
            self._clock.monotonic,
        )


def open_quarantine(
    settings: Settings,
    databases: DatabaseFences,
    encoder: RecordEncoder,
    decoder: EventDecoder,
    position: StreamPosition,
    sink: KafkaSink,
    clock: Clock,
) -> tuple[Guard | None, CopyGuard, QuarantineAttendant]:
    """Return the guard of changes, that of copied rows, and the attendant of all fences.

    There is no guard if no setting asks for fences, and no fence exists.
    """
    options, fences = encoder.options, databases.fences
    attendant = QuarantineAttendant(
        settings.kafka,
        settings.name,
        databases,
        encoder,
        position,
        sink.clients,
        clock,
    )
    policy = settings.quarantine.policy
    topic = control_topic(options.prefix, QUARANTINE_TOPIC_SUFFIX)
    record_bytes_max = min(settings.kafka.record_bytes_max, sink.bytes_max(topic))
    store = QuarantineStore(options, settings.name, encoder, decoder, sink.target, record_bytes_max)
    copied = CopyGuard(policy, fences, store)
    fences_rewritten = settings.schema.on_rewrite == "fence"
    if policy == STOP and not fences_rewritten and not fences.any:
        return None, copied, attendant
    return Guard(policy, encoder, fences, store), copied, attendant
