"""A connection to a scripted server: packets in pieces, and everything that breaks it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from connector.binlog.header import EventType
from tests.binlog.log_bytes import event
from tests.simulation.faults import Call, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulation.server import ScriptedServer
    from tests.simulation.world import Process

_SHUTDOWN = b"\xff" + (1053).to_bytes(2, "little") + b"#08S01Server shutdown in progress"
_DAMAGED = b"\xff" + (1236).to_bytes(2, "little") + b"#HY000bogus data in log event"
_HEARTBEAT_SECONDS = 10.0
_PACKET_MAX = 2**24 - 1
_TYPE_OFFSET = 4
_LOG_POS = slice(13, 17)
_NAME_OFFSET, _CHECKSUM_START = 27, -4
# A server waits for more only between groups.
_GROUP_BEGINS = (
    EventType.GTID_LOG_EVENT,
    EventType.ANONYMOUS_GTID_LOG_EVENT,
    EventType.GTID_EVENT,
)
# Pieces that a receive returns: mostly large, as from a server that is ahead; some tiny.
_PIECES = (1, 7, 60, 400, 4000, 1 << 20)


class ScriptedSocket(socket.socket):
    """What the replication stream receives from.

    A real socket that is not connected lends its file descriptor; nothing goes through it.
    """

    def __init__(
        self,
        process: Process,
        server: ScriptedServer,
        events: Iterator[bytes],
        cut_at: int | None = None,
        *,
        by_event: bool = False,
    ) -> None:
        """Send `events`; break the connection behind `cut_at` bytes.

        With `by_event`, each receive returns one event.
        """
        super().__init__(socket.AF_UNIX)
        self._process = process
        self._server = server
        self._events = events
        self._cut_at = cut_at
        self._by_event = by_event
        self._file = b""
        self._sent_to = 0
        # Where the log has not ended, but goes on later.
        self._has_all_for_now = False
        self._waiting = b""
        self._number = 1
        self._silent_seconds = 0.0
        self._timeout_seconds = 0.0
        self._hung_up = False

    def settimeout(self, value: float | None) -> None:
        """Let a receive wait for so long."""
        self._timeout_seconds = value or 0.0

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Return a piece of what the server sends; b"" once it has closed the connection."""
        del flags
        fault = self._process.step(Call.RECEIVE)
        if self._process.world.server is not self._server or fault is Fault.CLOSED:
            self._hung_up = True
        if self._hung_up:
            return b""
        if fault is Fault.CUT:
            self._cut()
        elif fault is Fault.SILENCE:
            return self._nothing()
        if not self._waiting:
            self._refill(fault)
        if not self._waiting:
            return self._nothing()
        self._silent_seconds = 0.0
        return self._piece(bufsize)

    def _piece(self, size: int) -> bytes:
        if not self._by_event:
            size = min(size, self._process.world.random.choice(_PIECES))
        if self._cut_at is not None:
            if self._cut_at == 0:
                raise ConnectionResetError
            size = min(size, self._cut_at)
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        if self._cut_at is not None:
            self._cut_at -= len(data)
        return data

    def _cut(self) -> None:
        """Break the connection somewhere in what comes next."""
        self._cut_at = self._process.world.random.randrange(200)

    def _refill(self, fault: Fault | None) -> None:
        if fault in (Fault.ERROR, Fault.DAMAGED):
            self._waiting = self._packet(_SHUTDOWN if fault is Fault.ERROR else _DAMAGED)
            self._events = iter(())
            return
        count = 1 if self._by_event else self._process.world.random.choice((1, 3, 40))
        packets = []
        for _, data in zip(range(count), self._events, strict=False):
            self._has_all_for_now = not data
            if not data:
                break
            self._sent_to = int.from_bytes(data[_LOG_POS], "little") or self._sent_to
            type_code = data[_TYPE_OFFSET]
            if type_code == EventType.ROTATE_EVENT:
                self._file = data[_NAME_OFFSET:_CHECKSUM_START]
            elif fault is Fault.HEARTBEAT and type_code in _GROUP_BEGINS:
                packets.append(self._packet(b"\0" + self._heartbeat_before(data)))
            packets.append(self._packet(b"\0" + data))
        self._waiting = b"".join(packets)

    def _heartbeat_before(self, data: bytes) -> bytes:
        """Return what the server sends while it waits for this event."""
        end, size = (int.from_bytes(data[at : at + 4], "little") for at in (13, 9))
        return event(EventType.HEARTBEAT_LOG_EVENT, self._file, log_pos=end - size)

    def _nothing(self) -> bytes:
        """Wait for the timeout; heartbeats come meanwhile."""
        world = self._process.world
        seconds = max(self._timeout_seconds, self._process.stop.take_patience(), 0.001)
        # The next heartbeat ends the wait.
        seconds = min(seconds, max(_HEARTBEAT_SECONDS - self._silent_seconds, 0.001))
        world.pass_time(seconds)
        self._silent_seconds += seconds
        if not self._waiting and world.finished():
            self._process.stop.requested = True
        if not self._waiting and self._silent_seconds >= _HEARTBEAT_SECONDS:
            self._silent_seconds = 0.0
            heartbeat = self._server.heartbeat()
            if self._has_all_for_now:
                heartbeat = event(EventType.HEARTBEAT_LOG_EVENT, self._file, log_pos=self._sent_to)
            self._waiting = self._packet(b"\0" + heartbeat)
        raise TimeoutError

    def _packet(self, payload: bytes) -> bytes:
        packets = b""
        while True:
            piece, payload = payload[:_PACKET_MAX], payload[_PACKET_MAX:]
            packets += len(piece).to_bytes(3, "little") + bytes([self._number]) + piece
            self._number = (self._number + 1) & 0xFF
            if len(piece) < _PACKET_MAX:
                return packets
