"""The server that answers: its product, version and lasting identity.

The identity says to which server a file name and a position belong. MySQL has `server_uuid` for
that. MariaDB has `server_uid` (from 10.5.26), which is made of a network card and the port, so two
data directories that use one port in turn share it. So the identity of a MariaDB is a UUID made of
uid, server_id, host name, port and data directory. If one of them changes, the same server looks
new. This is harmless: the order of changes starts a new epoch. Two servers with one identity would
not be harmless.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid5

from connector.errors import SourceUnavailable, source_login
from connector.progress.server_identity import ServerIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

# The namespace for `uuid5`: any constant, but it must never change.
_NAMESPACE = UUID("8f0a5a3e-6f0e-5b0e-9d3c-2f4d1c9b7a60")
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?")


def another_answered(server_name: str) -> SourceUnavailable:
    """Return the error for two sessions with one address that are on two servers."""
    return SourceUnavailable(source_login.ANOTHER_ANSWERED, server=server_name, answered=True)


class _Session(Protocol):
    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]: ...

    def variable(self, name: str) -> str | None: ...


def read_identity(server: _Session) -> ServerIdentity:
    """Read product, version and identity from the server.

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
        # The server finds a position by GTID only if it is ON.
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
