"""A dump of the server that answers, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.replication import dump
from connector.replication.server.mysql_server import MysqlServer

if TYPE_CHECKING:
    from connector.foundation.settings.sections import SourceSettings
    from connector.replication.dump import ReplicationStream
    from connector.replication.start_point import StartPoint


def open_stream(
    settings: SourceSettings,
    point: StartPoint,
    *,
    replica_name: str,
    stop_at_end: bool = False,
    semi_sync: bool = False,
) -> ReplicationStream:
    with MysqlServer.connect(settings) as server:
        identity = server.identity
    return dump.open_stream(
        identity,
        settings,
        point,
        replica_name=replica_name,
        stop_at_end=stop_at_end,
        semi_sync=semi_sync,
    )
