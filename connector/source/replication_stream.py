"""A start point to events as the server sends them: our own reader on the session's socket.

*Liveness.* The server is asked for heartbeats, three in each read timeout, so silence longer than
that is a dead peer and not an idle one.

*Backpressure.* Nothing is read ahead beyond one buffer: while the caller does not ask, the socket
fills, and TCP makes the server wait.

*Ends.* A stream that follows the log never ends well: it raises, once the connection breaks, the
server stops, or it refuses. What comes next is a new stream from committed progress. One that was
opened with `stop_at_end` has `ended` at the end of the log.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Self
from uuid import UUID, uuid5

from connector.errors import DecodeError, ProtocolError, SourceRefused, SourceUnavailable
from connector.gtid import GtidSet, MariadbGtidSet
from connector.source.mysql_server import MysqlServer
from connector.source.server_errors import server_error
from connector.wire.commands import ComBinlogDump, ComBinlogDumpGtid, ComRegisterSlave, DumpFlags
from connector.wire.event_stream import EventStream
from connector.wire.responses import EofPacket, ErrPacket
from connector.wire.semi_sync import SemiSyncAck, split_header

if TYPE_CHECKING:
    from types import TracebackType

    from connector.config import SourceSettings
    from connector.source.mysql_server import ServerIdentity
    from connector.source.start import StartPoint

HEARTBEATS_PER_READ_TIMEOUT = 3

# Of the replica's UUID: any constant will do, as long as it never changes.
_NAMESPACE = UUID("6b1c2f5e-93b4-5c52-8a55-0f9f7f4f4a0d")
_NANOSECONDS = 1_000_000_000
# The capability of a MariaDB replica that understands GTID events; less gets dummy events.
_MARIADB_CAPABILITY_GTID = 4
# The server_id of a reader that is no replica: servers throw no other one out for it.
_NO_REPLICA = 0
# Of MySQL's plugin since 8.0.26; of the one before, and of MariaDB.
_SEMI_SYNC_SWITCHES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")


def open_stream(
    settings: SourceSettings,
    point: StartPoint,
    *,
    replica_name: str,
    stop_at_end: bool = False,
    semi_sync: bool = False,
) -> ReplicationStream:
    """Log in, introduce this replica and ask for everything behind `point`.

    `replica_name` and `settings.server_id` make the UUID under which SHOW REPLICAS shows the
    stream; of two streams with the same one, MySQL throws the older out. With `stop_at_end` the
    server ends the stream where its log ends, and nobody is introduced: a reader that goes again is
    no replica, and throws none out. With `semi_sync` the server's commits wait until the stream
    acknowledges them. Raises SourceUnavailable or SourceRefused; what the server says to the dump
    itself comes out of `receive`.
    """
    server = MysqlServer.connect(settings)
    try:
        _set_session_variables(server, settings, point)
        server_id = settings.server_id
        if stop_at_end:
            server_id = _NO_REPLICA
        else:
            _introduce(server, server_id, replica_name)
        if semi_sync:
            _ask_for_semi_sync(server)
        dumping = server.start_dump(_dump_command(server, server_id, point, stop_at_end))
    finally:
        server.close()
    dumping.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    dumping.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ReplicationStream(
        dumping,
        server.place,
        server.identity,
        settings.read_timeout_seconds,
        stop_at_end=stop_at_end,
        semi_sync=semi_sync,
    )


def _introduce(server: MysqlServer, server_id: int, replica_name: str) -> None:
    replica_uuid = str(uuid5(_NAMESPACE, f"{replica_name}/{server_id}"))
    server.query("SET @slave_uuid = %s, @replica_uuid = %s", (replica_uuid, replica_uuid))
    server.execute(ComRegisterSlave(server_id, replica_name))


def _ask_for_semi_sync(server: MysqlServer) -> None:
    if "ON" not in {server.variable(name) for name in _SEMI_SYNC_SWITCHES}:
        reason = (
            f"{server.place}: semi-synchronous replication is off: SET GLOBAL "
            "rpl_semi_sync_master_enabled = ON on MariaDB; on MySQL INSTALL PLUGIN "
            "rpl_semi_sync_source SONAME 'semisync_source.so' and SET GLOBAL "
            "rpl_semi_sync_source_enabled = ON"
        )
        raise SourceRefused(reason)
    server.query("SET @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1")


def _set_session_variables(
    server: MysqlServer, settings: SourceSettings, point: StartPoint
) -> None:
    period_ns = int(settings.read_timeout_seconds / HEARTBEATS_PER_READ_TIMEOUT * _NANOSECONDS)
    # Servers up to 8.0.25 and MariaDB know the first name of each pair, 8.4 the second. CRC32, not
    # what is set now: else a server that was changed to NONE would cut the checksums off the events
    # of older files, and their places would not be those of the file.
    server.query(
        f"SET @master_heartbeat_period = {period_ns}, @source_heartbeat_period = {period_ns}, "
        "@master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'"
    )
    if server.identity.flavour == "mariadb":
        server.query(f"SET @mariadb_slave_capability = {_MARIADB_CAPABILITY_GTID}")
        if isinstance(point.gtid_set, MariadbGtidSet):
            # Strict: a GTID of ours that the log lacks is an error, not a place to guess.
            server.query(
                "SET @slave_connect_state = %s, @slave_gtid_strict_mode = 1, "
                "@slave_gtid_ignore_duplicates = 0",
                (str(point.gtid_set),),
            )


def _dump_command(
    server: MysqlServer, server_id: int, point: StartPoint, stop_at_end: bool
) -> ComBinlogDump | ComBinlogDumpGtid:
    flags = DumpFlags.NON_BLOCK if stop_at_end else DumpFlags.NONE
    if isinstance(point.gtid_set, GtidSet):
        return ComBinlogDumpGtid(server_id, point.gtid_set, flags)
    if server.identity.flavour == "mariadb":
        flags |= DumpFlags.MARIADB_SEND_ANNOTATE_ROWS_EVENT
    if isinstance(point.gtid_set, MariadbGtidSet):
        return ComBinlogDump(server_id, "", flags=flags)
    if point.position > ComBinlogDump.POSITION_MAX:
        reason = (
            f"{server.place}: {point.file}:{point.position} lies behind 4 GiB, where a dump cannot "
            "start without GTIDs: start at position 4 of the next file"
        )
        raise SourceRefused(reason)
    return ComBinlogDump(server_id, point.file, point.position, flags)


class ReplicationStream:
    """The events of one dump, in the order of the log; a context manager closes it.

    One thread receives; any thread, or a signal handler, may close.
    """

    def __init__(
        self,
        dumping: socket.socket,
        place: str,
        identity: ServerIdentity,
        read_timeout_seconds: float,
        *,
        stop_at_end: bool = False,
        semi_sync: bool = False,
    ) -> None:
        """Read from `dumping`, on which a dump command has been sent; see `open_stream`."""
        self.identity = identity
        self.ended = False  # at the end of the log, where `stop_at_end` was asked for
        # Whether the server awaits `acknowledge` for the event that was received last.
        self.ack_wanted = False
        self._stop_at_end = stop_at_end
        self._semi_sync = semi_sync
        self._place = place
        self._socket = dumping
        self._read_timeout_seconds = read_timeout_seconds
        self._events = EventStream()
        self._said: bytes | ErrPacket | EofPacket | None = None
        self._last_heard = time.monotonic()
        self._closed = False
        # Held while the socket is used, so that its descriptor is not given to someone else
        # meanwhile; re-entrant, because a signal handler may close within a receive.
        self._using = threading.RLock()

    def receive(self, timeout_seconds: float) -> bytes | None:
        """Return the next event without its OK byte, or None when none came in time.

        None also at the end of the log, where `ended` is true, if that was asked for. Raises
        SourceUnavailable when the connection ended or has been silent for longer than the read
        timeout, SourceRefused when the server refuses to go on, ProtocolError when the bytes are
        not a dump.
        """
        if self.ended:
            return None
        said, self._said = self._said, None
        if said is None:
            said = self._next()
        deadline = time.monotonic() + timeout_seconds if said is None else 0.0
        while said is None:
            left = deadline - time.monotonic()
            if self._fill(max(left, 0.0)):
                said = self._next()
            elif left <= 0:
                return None
        if isinstance(said, bytes):
            return self._without_semi_sync_header(said) if self._semi_sync else said
        if isinstance(said, EofPacket) and self._stop_at_end:
            self.ended = True
            return None
        raise self._end(said)

    def acknowledge(self, file: str, position: int) -> None:
        """Tell the server that everything up to `position` of `file` is safe here.

        Only while `ack_wanted`: the server closes the connection after an answer that it did not
        ask for. Raises SourceUnavailable when the connection broke.
        """
        self.ack_wanted = False
        with self._using:
            try:
                self._socket.settimeout(self._read_timeout_seconds)
                self._socket.sendall(SemiSyncAck(file, position).encode())
            except OSError as error:
                raise self._broken(error) from error

    def _without_semi_sync_header(self, data: bytes) -> bytes:
        try:
            event, self.ack_wanted = split_header(data)
        except ProtocolError as error:
            reason = f"{self._place}: {error}"
            raise ProtocolError(reason) from error
        if self.ack_wanted:
            self._events.restart_numbers()
        return event

    @property
    def buffered(self) -> bool:
        """Whether `receive` has something to return or raise without waiting for the server."""
        if self._said is None:
            self._said = self._next()
        return self._said is not None

    def close(self) -> None:
        """End the connection; a receive under way raises SourceUnavailable. Idempotent."""
        self._closed = True
        # Wakes the thread that waits. Past TLS: its state belongs to that thread.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        with self._using:
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _next(self) -> bytes | ErrPacket | EofPacket | None:
        try:
            return self._events.next_event()
        except DecodeError as error:
            reason = f"{self._place}: {error}"
            raise ProtocolError(reason) from error

    def _fill(self, timeout_seconds: float) -> bool:
        """Receive once; False when nothing came within `timeout_seconds`."""
        with self._using:
            try:
                if self._closed:
                    count = 0
                else:
                    self._socket.settimeout(timeout_seconds)
                    count = self._socket.recv_into(self._events.writable())
            except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
                self._check_silence()
                return False
            except OSError as error:
                raise self._broken(error) from error
        if not count:
            reason = f"{self._place}: the server closed the connection"
            raise SourceUnavailable(self._closed_reason() or reason)
        self._events.received(count)
        self._last_heard = time.monotonic()
        return True

    def _check_silence(self) -> None:
        silence_seconds = time.monotonic() - self._last_heard
        if silence_seconds > self._read_timeout_seconds:
            reason = (
                f"{self._place}: silent for {silence_seconds:.1f} seconds, although heartbeats "
                f"were to come {HEARTBEATS_PER_READ_TIMEOUT} times in source.read_timeout_seconds "
                f"({self._read_timeout_seconds:g}): the server or the network is gone"
            )
            raise SourceUnavailable(reason)

    def _broken(self, error: OSError) -> SourceUnavailable:
        reason = f"{self._place}: the connection broke: {error.strerror or error}"
        return SourceUnavailable(self._closed_reason() or reason)

    def _closed_reason(self) -> str | None:
        return f"{self._place}: the stream was closed here" if self._closed else None

    def _end(self, said: ErrPacket | EofPacket) -> Exception:
        if isinstance(said, EofPacket):
            return SourceUnavailable(f"{self._place}: the server ended the dump")
        return server_error(self._place, said.code, said.message)
