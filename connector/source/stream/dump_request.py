"""A start point to a stream of events: the commands of a replica before the server sends.

::

    login │ SET @… │ COM_REGISTER_SLAVE │ COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID │ events …

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from connector.errors import SourceRefused, source_start, source_stream
from connector.gtid import GtidSet, MariadbGtidSet
from connector.source.server.mysql_server import MysqlServer
from connector.source.stream.replication_stream import (
    HEARTBEATS_PER_READ_TIMEOUT,
    ReplicationStream,
)
from connector.wire.replication_commands import (
    ComBinlogDump,
    ComBinlogDumpGtid,
    ComRegisterSlave,
    DumpFlags,
)

if TYPE_CHECKING:
    from connector.progress.start_point import StartPoint
    from connector.settings.sections import SourceSettings

# The namespace of the replica's UUID: any constant, but it must never change.
_NAMESPACE = UUID("6b1c2f5e-93b4-5c52-8a55-0f9f7f4f4a0d")
_NANOSECONDS = 1_000_000_000
_WRITE_TIMEOUT_SECONDS = 3600
# Three in the time after which an idle source counts as lost.
_HEARTBEAT_SECONDS = 1.3
# The capability of a MariaDB replica that understands GTID events; with less, the server sends
# dummy events.
_MARIADB_CAPABILITY_GTID = 4
# The server_id of a reader that is no replica: a server disconnects no replica for it.
_NO_REPLICA = 0
# The names in MySQL's plugin from 8.0.26, and those of the older one and of MariaDB.
_SEMI_SYNC_SWITCHES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")


def open_stream(
    settings: SourceSettings,
    point: StartPoint,
    *,
    replica_name: str,
    stop_at_end: bool = False,
    semi_sync: bool = False,
) -> ReplicationStream:
    """Log in, register as a replica and ask for everything after `point`.

    `replica_name` and `settings.server_id` make the UUID that SHOW REPLICAS shows. If two streams
    have the same UUID, MySQL disconnects the older one. With `stop_at_end`, the server ends the
    stream at the end of its log, and the reader does not register: it is no replica, and no replica
    is disconnected for it. With `semi_sync`, the server's commits wait until the stream
    acknowledges them. Raises SourceUnavailable or SourceRefused. If the server refuses the dump
    itself, `receive` raises.
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
        server.name,
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
        raise SourceRefused(source_stream.NO_SEMI_SYNC, server=server.name)
    server.query("SET @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1")


def _set_session_variables(
    server: MysqlServer, settings: SourceSettings, point: StartPoint
) -> None:
    period = min(settings.read_timeout_seconds / HEARTBEATS_PER_READ_TIMEOUT, _HEARTBEAT_SECONDS)
    period_ns = int(period * _NANOSECONDS)
    # Servers up to 8.0.25 and MariaDB know the first name of each pair, 8.4 the second. The value
    # is CRC32 and not the server's current one: a server that was changed to NONE would cut the
    # checksums off the events of older files, and their positions would be wrong.
    # While Kafka takes the rows of a long transaction, or is down, the connector does not read. A
    # server gives up on such a replica after net_write_timeout, which is 60 s by default.
    server.query(f"SET SESSION net_write_timeout = {_WRITE_TIMEOUT_SECONDS}")
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
) -> ComBinlogDump | ComBinlogDumpGtid:
    flags = DumpFlags.NON_BLOCK if stop_at_end else DumpFlags.NONE
    if isinstance(point.gtid_set, GtidSet):
        return ComBinlogDumpGtid(server_id, point.gtid_set, flags)
    if server.identity.flavour == "mariadb":
        flags |= DumpFlags.MARIADB_SEND_ANNOTATE_ROWS_EVENT
    if isinstance(point.gtid_set, MariadbGtidSet):
        return ComBinlogDump(server_id, "", flags=flags)
    if point.position > ComBinlogDump.POSITION_MAX:
        raise SourceRefused(
            source_start.ABOVE_4_GIB,
            server=server.name,
            file=point.file,
            position=point.position,
        )
    return ComBinlogDump(server_id, point.file, point.position, flags)
