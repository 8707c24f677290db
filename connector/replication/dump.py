"""A dump: the commands of a replica before the server sends, and the events that it sends.

::

    login │ SET @… │ COM_REGISTER_SLAVE │ COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID │ events …

*Liveness.* The server sends at least three heartbeats in each read timeout. So a longer silence
means a dead peer, not an idle one. `silent_seconds` shows sooner that something is wrong.

*Backpressure.* The stream reads at most one receive ahead. While the caller does not ask, the
socket fills, and TCP makes the server wait.

*Ends.* A stream that follows the log ends only by an error: the connection breaks, the server
stops, or it refuses. Then a new stream starts from committed progress. With `stop_at_end`, the
stream has `ended` at the end of the log.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html
"""

import socket
import ssl
from typing import Self
from uuid import UUID, uuid5

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.log_errors import ProtocolError
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.operating_system import CLOCK, Clock
from connector.foundation.settings.sections import SourceSettings
from connector.replication import dump_errors
from connector.replication.protocol import commands
from connector.replication.protocol.event_stream import EventStream
from connector.replication.protocol.responses import EofPacket, ErrPacket, SemiSyncAck, split_header
from connector.replication.server.identity import other_server_error
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.server_error_numbers import server_error
from connector.replication.server.shared_socket import AwaitData, SharedSocket
from connector.replication.start_point import ServerIdentity, StartPoint

HEARTBEATS_PER_READ_TIMEOUT = 3

# Python allocates so much for each receive. 32 KiB come from the heap. The kernel maps and unmaps
# 1 MiB each time, so that is only asked for while more waits than fits into 32 KiB.
_RECEIVE_BYTES = 32 * 1024
_RECEIVE_BYTES_MAX = 1024 * 1024
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
        read_timeout_seconds: float,
        *,
        stop_at_end: bool = False,
        semi_sync: bool = False,
        clock: Clock = CLOCK,
    ) -> None:
        """Read from `dumping`, to which a dump command has been sent; see `open_stream`."""
        self._monotonic = clock.monotonic
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
        self._receive_bytes = _RECEIVE_BYTES
        self._last_heard = self._monotonic()
        # Whether the server was idle before. A server that searches for the position sends nothing.
        self._has_idled = False

    @property
    def silent_seconds(self) -> float:
        """For how many seconds a server with heartbeats has sent nothing; else 0."""
        return self._monotonic() - self._last_heard if self._has_idled else 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the server had more to send at the last receive than was asked for."""
        return self._receive_bytes > _RECEIVE_BYTES

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

    def fill(self, timeout_seconds: float, await_data: AwaitData | None = None) -> bool:
        """Receive once, into `events`; return False if nothing came in time, or if it has `ended`.

        `await_data` may end the wait before. Raises as `receive` does, after the last event in
        `events` was taken.
        """
        end = self.events.end
        if end is None:
            return self._receive(timeout_seconds, await_data)
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
                dump_errors.BROKEN_RULES, server=self._server_name, why=error
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

    def _receive(self, timeout_seconds: float, await_data: AwaitData | None = None) -> bool:
        try:
            data = self._socket.receive(self._receive_bytes, timeout_seconds, await_data)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            self._check_silence()
            return False
        except OSError as error:
            raise self._broken(error) from error
        if not data:
            if self._socket.closed:
                raise self._closed_here()
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server=self._server_name)
        is_full = len(data) >= _RECEIVE_BYTES
        self._receive_bytes = _RECEIVE_BYTES_MAX if is_full else _RECEIVE_BYTES
        self.events.feed(data)
        now = self._monotonic()
        self._has_idled = self._has_idled or now - self._last_heard >= _IDLE_SECONDS
        self._last_heard = now
        return True

    def _check_silence(self) -> None:
        silence_seconds = self._monotonic() - self._last_heard
        if silence_seconds > self._read_timeout_seconds:
            raise SourceUnavailable(
                dump_errors.SILENT,
                server=self._server_name,
                seconds=silence_seconds,
                times=HEARTBEATS_PER_READ_TIMEOUT,
                limit=self._read_timeout_seconds,
            )

    def _broken(self, error: OSError) -> SourceUnavailable:
        if self._socket.closed:
            return self._closed_here()
        why = error.strerror or str(error)
        return SourceUnavailable(dump_errors.BROKE, server=self._server_name, why=why)

    def _closed_here(self) -> SourceUnavailable:
        return SourceUnavailable(dump_errors.STREAM_CLOSED_HERE, server=self._server_name)

    def _end(self, packet: ErrPacket | EofPacket) -> Exception:
        if isinstance(packet, EofPacket):
            return SourceUnavailable(dump_errors.DUMP_ENDED, server=self._server_name)
        return server_error(self._server_name, packet.code, packet.message)


# The namespace of the replica's UUID: any constant, but it must never change.
_NAMESPACE = UUID("6b1c2f5e-93b4-5c52-8a55-0f9f7f4f4a0d")
_NANOSECONDS = 1_000_000_000
_WRITE_TIMEOUT_SECONDS = 3600
# Three in the time after which an idle source counts as lost.
HEARTBEAT_SECONDS = 1.3
# The capability of a MariaDB replica that understands GTID events; with less, the server sends
# dummy events.
_MARIADB_CAPABILITY_GTID = 4
# The server_id of a reader that is no replica: a server disconnects no replica for it.
_NO_REPLICA = 0
# The names in MySQL's plugin from 8.0.26, and those of the older one and of MariaDB.
_SEMI_SYNC_SWITCHES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")


def open_stream(
    identity: ServerIdentity,
    settings: SourceSettings,
    point: StartPoint,
    *,
    replica_name: str,
    stop_at_end: bool = False,
    semi_sync: bool = False,
) -> ReplicationStream:
    """Log in to the server `identity`, register as a replica and ask for all after `point`.

    A proxy or a moved address may lead this login to another server than the one on which `point`
    was found or checked; then it raises SourceUnavailable.

    `replica_name` and `settings.server_id` make the UUID that SHOW REPLICAS shows. If two streams
    have the same UUID, MySQL disconnects the older one. With `stop_at_end`, the server ends the
    stream at the end of its log, and the reader does not register: it is no replica, and no replica
    is disconnected for it. With `semi_sync`, the server's commits wait until the stream
    acknowledges them. Raises SourceUnavailable or SourceRefused. If the server refuses the dump
    itself, `receive` raises.
    """
    server = MysqlServer.connect(settings)
    try:
        if server.identity.server_uuid != identity.server_uuid:
            raise other_server_error(server.name)
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
        server.name,
        settings.read_timeout_seconds,
        stop_at_end=stop_at_end,
        semi_sync=semi_sync,
    )


def _introduce(server: MysqlServer, server_id: int, replica_name: str) -> None:
    replica_uuid = str(uuid5(_NAMESPACE, f"{replica_name}/{server_id}"))
    server.query("SET @slave_uuid = %s, @replica_uuid = %s", (replica_uuid, replica_uuid))
    server.execute(commands.ComRegisterSlave(server_id, replica_name))


def _ask_for_semi_sync(server: MysqlServer) -> None:
    if "ON" not in {server.variable(name) for name in _SEMI_SYNC_SWITCHES}:
        raise SourceRefused(dump_errors.NO_SEMI_SYNC, server=server.name)
    server.query("SET @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1")


def _set_session_variables(
    server: MysqlServer, settings: SourceSettings, point: StartPoint
) -> None:
    period = min(settings.read_timeout_seconds / HEARTBEATS_PER_READ_TIMEOUT, HEARTBEAT_SECONDS)
    period_ns = int(period * _NANOSECONDS)
    # While Kafka takes the rows of a long transaction, or is down, the connector does not read. A
    # server gives up on such a replica after net_write_timeout, which is 60 s by default.
    server.query(f"SET SESSION net_write_timeout = {_WRITE_TIMEOUT_SECONDS}")
    # Servers up to 8.0.25 and MariaDB know the first name of each pair, 8.4 the second. The value
    # is CRC32 and not the server's current one: a server that was changed to NONE would cut the
    # checksums off the events of older files, and their positions would be wrong.
    server.query(
        f"SET @master_heartbeat_period = {period_ns}, @source_heartbeat_period = {period_ns}, "
        "@master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'"
    )
    if server.identity.flavour == "mariadb":
        server.query(f"SET @mariadb_slave_capability = {_MARIADB_CAPABILITY_GTID}")
        if isinstance(point.gtid_set, MariadbGtidSet):
            # Strict: a GTID of ours that the log lacks is an error; the server must not guess a
            # position.
            server.query(
                "SET @slave_connect_state = %s, @slave_gtid_strict_mode = 1, "
                "@slave_gtid_ignore_duplicates = 0",
                (str(point.gtid_set),),
            )


def _dump_command(
    server: MysqlServer, server_id: int, point: StartPoint, stop_at_end: bool
) -> commands.ComBinlogDump | commands.ComBinlogDumpGtid:
    flags = commands.DumpFlags.NON_BLOCK if stop_at_end else commands.DumpFlags.NONE
    if isinstance(point.gtid_set, GtidSet):
        return commands.ComBinlogDumpGtid(server_id, point.gtid_set, flags)
    if server.identity.flavour == "mariadb":
        flags |= commands.DumpFlags.MARIADB_SEND_ANNOTATE_ROWS_EVENT
    if isinstance(point.gtid_set, MariadbGtidSet):
        return commands.ComBinlogDump(server_id, "", flags=flags)
    if point.position > commands.ComBinlogDump.POSITION_MAX:
        raise SourceRefused(
            dump_errors.ABOVE_4_GIB,
            server=server.name,
            file=point.file,
            position=point.position,
        )
    return commands.ComBinlogDump(server_id, point.file, point.position, flags)
