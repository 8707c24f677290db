"""A dump command becomes the events that a server sends, up to the first heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from connector.binlog.header import EventType
from connector.foundation.settings.sections import SourceSettings
from connector.replication.protocol.commands import ComBinlogDump, DumpFlags
from connector.replication.protocol.event_stream import EventStream
from connector.replication.server.mysql_server import MysqlServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

_HEARTBEATS = (EventType.HEARTBEAT_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2)
_TYPE_OFFSET = 4
_HEARTBEAT_NANOSECONDS = 200_000_000
_TIMEOUT_SECONDS = 10
_SERVER_ID = 4001
_RECEIVE_BYTES = 64 * 1024


def dumped_events(endpoint: Endpoint, log: str, flags: int) -> Iterator[bytes]:
    """Yield the events of `log`, the server's own about the dump first, a heartbeat last.

    Bit 1 of the flags asks MySQL for HEARTBEAT_LOG_EVENT_V2, MariaDB for ANNOTATE_ROWS_EVENT.
    """
    settings = SourceSettings(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=SecretStr(endpoint.password),
        server_id=_SERVER_ID,
    )
    with MysqlServer.connect(settings) as server:
        server.query(
            f"SET @master_heartbeat_period = {_HEARTBEAT_NANOSECONDS}, "
            f"@source_heartbeat_period = {_HEARTBEAT_NANOSECONDS}, "
            "@master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32', "
            "@mariadb_slave_capability = 4"
        )
        command = ComBinlogDump(_SERVER_ID, log, 4, DumpFlags(flags))
        dumping = server.start_dump(command)
    stream = EventStream("server")
    with dumping:
        dumping.settimeout(_TIMEOUT_SECONDS)
        while True:
            event = stream.next_event()
            if event is None:
                assert stream.end is None, stream.end
                stream.feed(dumping.recv(_RECEIVE_BYTES))
                continue
            yield event
            if event[_TYPE_OFFSET] in _HEARTBEATS:
                return
