"""Settings and progress become a server that was checked, and the place where its stream begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import SourceUnavailable
from connector.resume import start_point
from connector.source.dump_request import open_stream
from connector.source.mysql_server import MysqlServer
from connector.source.preflight import check_source, require
from connector.source.start import resolve_start, validate_start

if TYPE_CHECKING:
    from connector.config import SourceSettings
    from connector.envelope.progress import Progress
    from connector.source.identity import ServerIdentity
    from connector.source.replication_stream import ReplicationStream
    from connector.source.start import StartPoint


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A server that has what the stream needs, and everything behind `point`."""

    settings: SourceSettings  # `host` and `port` are those of the server that was chosen
    place: str  # "source HOST:PORT", the beginning of error messages
    identity: ServerIdentity
    point: StartPoint
    lower_case_names: bool

    def open_stream(self, replica_name: str) -> ReplicationStream:
        """Ask the server for everything behind `point`.

        Raises SourceUnavailable or SourceRefused.
        """
        stream = open_stream(self.settings, self.point, replica_name=replica_name)
        if stream.identity.server_uuid != self.identity.server_uuid:
            # A proxy or a moved address led the second login elsewhere than the checks.
            stream.close()
            reason = f"{self.place}: another server answered than the one that was checked"
            raise SourceUnavailable(reason)
        return stream


def choose_source(settings: SourceSettings, last: Progress | None) -> CheckedSource:
    """Return the server to read from; `last` is the committed progress.

    Raises SourceUnavailable or SourceRefused.
    """
    server = MysqlServer.connect(settings)
    place = server.place
    try:
        require(check_source(server, settings), place)
        identity = server.identity
        if last is None:
            point = resolve_start(server, settings.start)
        else:
            point = start_point(last, identity, place)
        validate_start(server, point)
        lower_case_names = server.variable("lower_case_table_names") == "1"
    finally:
        server.close()
    return CheckedSource(settings, place, identity, point, lower_case_names)
