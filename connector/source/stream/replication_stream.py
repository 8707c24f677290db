"""A socket to events: our own reader of a dump.

*Liveness.* The server sends at least three heartbeats in each read timeout. So a longer silence
means a dead peer, not an idle one. `silent_seconds` shows sooner that something is wrong.

*Backpressure.* The stream reads at most one receive ahead. While the caller does not ask, the
socket fills, and TCP makes the server wait.

*Ends.* A stream that follows the log ends only by an error: the connection breaks, the server
stops, or it refuses. Then a new stream starts from committed progress. With `stop_at_end`, the
stream has `ended` at the end of the log.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Self

from connector.errors import ProtocolError, SourceUnavailable, source_stream
from connector.source.server.server_errors import server_error
from connector.source.server.shared_socket import SharedSocket
from connector.system.clock import CLOCK, Clock
from connector.wire.event_stream import EventStream
from connector.wire.responses import EofPacket, ErrPacket
from connector.wire.semi_sync import SemiSyncAck, split_header

if TYPE_CHECKING:
    import socket

    from connector.progress.server_identity import ServerIdentity

HEARTBEATS_PER_READ_TIMEOUT = 3

_RECEIVE_BYTES = 1024 * 1024
# If data comes so long after earlier data, it counts as a heartbeat.
_IDLE_SECONDS = 1.0


class ReplicationStream:
    """The events of one dump, in the order of the log; a context manager closes it.

    One thread receives; any thread, or a signal handler, may close.
    """

    def __init__(
        self,
        dumping: socket.socket,
        server_name: str,
        identity: ServerIdentity,
        read_timeout_seconds: float,
        *,
        stop_at_end: bool = False,
        semi_sync: bool = False,
        clock: Clock = CLOCK,
    ) -> None:
        """Read from `dumping`, to which a dump command has been sent; see `dump_request`."""
        self._monotonic = clock.monotonic
        self.identity = identity
        self.ended = False  # at the end of the log, if `stop_at_end` was asked for
        # Whether the server waits for `acknowledge` of the event that was received last.
        self.ack_wanted = False
        self._stop_at_end = stop_at_end
        self._semi_sync = semi_sync
        self._server_name = server_name
        self._socket = SharedSocket(dumping)
        self._read_timeout_seconds = read_timeout_seconds
        # The received bytes, for callers that take events in another way than by `receive`.
        self.events = EventStream(server_name)
        self._ahead: bytes | None = None  # the next event, if `buffered` had to look for it
        self._last_heard = self._monotonic()
        # Whether the server was idle before. A server that searches for the position sends nothing.
        self._has_idled = False

    @property
    def silent_seconds(self) -> float:
        """For how many seconds a server with heartbeats has sent nothing; else 0."""
        return self._monotonic() - self._last_heard if self._has_idled else 0.0

    def receive(self, timeout_seconds: float) -> bytes | None:
        """Return the next event without its OK byte; None if none came in time.

        Returns None also at the end of the log, with `ended` true, if `stop_at_end` was asked for.
        Raises SourceUnavailable if the connection ended or has been silent for longer than the read
        timeout, SourceRefused if the server refuses to go on, ProtocolError if the bytes are not a
        dump.
        """
        event = self._next()
        deadline = self._monotonic() + timeout_seconds if event is None else 0.0
        while event is None and not self.ended:
            left = deadline - self._monotonic()
            if self.fill(max(left, 0.0)):
                event = self._next()
            elif left <= 0:
                return None
        if event is not None and self._semi_sync:
            return self._without_semi_sync_header(event)
        return event

    def fill(self, timeout_seconds: float) -> bool:
        """Receive once, into `events`; return False if nothing came in time, or if it has `ended`.

        Raises as `receive` does, after the last event in `events` was taken.
        """
        end = self.events.end
        if end is None:
            return self._receive(timeout_seconds)
        if isinstance(end, EofPacket) and self._stop_at_end:
            self.ended = True
            return False
        raise self._end(end)

    def acknowledge(self, file: str, position: int) -> None:
        """Tell the server that everything up to `position` of `file` is safe here.

        Call it only while `ack_wanted`: the server closes the connection after an answer that it
        did not ask for. Raises SourceUnavailable if the connection broke.
        """
        self.ack_wanted = False
        try:
            self._socket.send(SemiSyncAck(file, position).encode(), self._read_timeout_seconds)
        except OSError as error:
            raise self._broken(error) from error

    def _without_semi_sync_header(self, data: bytes) -> bytes:
        try:
            event, self.ack_wanted = split_header(data)
        except ProtocolError as error:
            raise ProtocolError(
                source_stream.BROKEN_RULES, server=self._server_name, why=error
            ) from error
        if self.ack_wanted:
            self.events.restart_numbers()
        return event

    @property
    def buffered(self) -> bool:
        """Whether `receive` can return or raise without waiting for the server."""
        if self._ahead is None:
            self._ahead = self.events.next_event()
        return self._ahead is not None or (self.events.end is not None and not self.ended)

    def close(self) -> None:
        """End the connection; a running receive raises SourceUnavailable. Idempotent."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> bytes | None:
        event, self._ahead = self._ahead, None
        return self.events.next_event() if event is None else event

    def _receive(self, timeout_seconds: float) -> bool:
        try:
            data = self._socket.receive(_RECEIVE_BYTES, timeout_seconds)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            self._check_silence()
            return False
        except OSError as error:
            raise self._broken(error) from error
        if not data:
            if self._socket.closed:
                raise self._closed_here()
            raise SourceUnavailable(source_stream.SERVER_CLOSED, server=self._server_name)
        self.events.feed(data)
        now = self._monotonic()
        self._has_idled = self._has_idled or now - self._last_heard >= _IDLE_SECONDS
        self._last_heard = now
        return True

    def _check_silence(self) -> None:
        silence_seconds = self._monotonic() - self._last_heard
        if silence_seconds > self._read_timeout_seconds:
            raise SourceUnavailable(
                source_stream.SILENT,
                server=self._server_name,
                seconds=silence_seconds,
                times=HEARTBEATS_PER_READ_TIMEOUT,
                limit=self._read_timeout_seconds,
            )

    def _broken(self, error: OSError) -> SourceUnavailable:
        if self._socket.closed:
            return self._closed_here()
        why = error.strerror or str(error)
        return SourceUnavailable(source_stream.BROKE, server=self._server_name, why=why)

    def _closed_here(self) -> SourceUnavailable:
        return SourceUnavailable(source_stream.STREAM_CLOSED_HERE, server=self._server_name)

    def _end(self, said: ErrPacket | EofPacket) -> Exception:
        if isinstance(said, EofPacket):
            return SourceUnavailable(source_stream.DUMP_ENDED, server=self._server_name)
        return server_error(self._server_name, said.code, said.message)
