"""Which server answers: its product, version and lasting identity.

The identity says to which server a file name and a position belong. MySQL has `server_uuid` for
that. MariaDB has `server_uid` (from 10.5.26), which is made of a network card and the port, so two
data directories that took turns on one port share it. There, the identity is a UUID made of
everything that tells servers apart: uid, server_id, host name, port and data directory. A change of
one of them makes the same server look new, which is harmless (the order of changes starts a new
epoch); two servers that look like one would not be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid5

from connector.errors import SourceUnavailable, source_login
from connector.progress.server_identity import ServerIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of `uuid5`: any constant will do, as long as it never changes.
_NAMESPACE = UUID("8f0a5a3e-6f0e-5b0e-9d3c-2f4d1c9b7a60")
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?")


def another_answered(server_name: str) -> SourceUnavailable:
    """Return what to raise if two sessions with one address are on two servers."""
    return SourceUnavailable(source_login.ANOTHER_ANSWERED, server=server_name, answered=True)


class _Session(Protocol):
    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]: ...

    def variable(self, name: str) -> str | None: ...


def read_identity(server: _Session) -> ServerIdentity:
    """Ask the server.

    Raises SourceUnavailable or SourceRefused.
    """
    (row,) = server.query("SELECT VERSION() AS version, @@GLOBAL.server_id AS server_id")
    version, server_id = str(row["version"]), int(str(row["server_id"]))
    mariadb = "mariadb" in version.lower()
    if mariadb:
        server_uuid = _mariadb_uuid(server, server_id)
        gtid = True
    else:
        server_uuid = server.variable("server_uuid") or ""
        # Only ON lets the server find a place in its log by GTID.
        gtid = server.variable("gtid_mode") == "ON"
    match = _VERSION.match(version)
    number = tuple(int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    return ServerIdentity(
        flavour="mariadb" if mariadb else "mysql",
        version=version,
        version_number=(number[0], number[1], number[2]),
        server_uuid=server_uuid,
        server_id=server_id,
        gtid=gtid,
    )


def _mariadb_uuid(server: _Session, server_id: int) -> str:
    names = ("server_uid", "hostname", "port", "datadir")
    parts = [str(server_id), *(server.variable(name) or "" for name in names)]
    return str(uuid5(_NAMESPACE, "\n".join(parts)))
