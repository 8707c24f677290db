"""The server that answers: its product, version and lasting identity, and the cloud that runs it.

The identity says to which server a file name and a position belong. MySQL has `server_uuid` for
that. MariaDB has `server_uid` (from 10.5.26), which is made of a network card and the port, so two
data directories that use one port in turn share it. So the identity of a MariaDB is a UUID made of
uid, server_id, host name, port and data directory. If one of them changes, the same server looks
new. This is harmless: the order of changes starts a new epoch. Two servers with one identity would
not be harmless.

A cloud takes SET PERSIST and the option file away from its customers, so each has other advice:

- Amazon RDS installs its servers in /rdsdbbin, and has a table of settings in `mysql`.
- Amazon Aurora adds variables of its own; its folder is named after the engine.
- Google Cloud SQL and Azure add their names to the version.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol
from uuid import UUID, uuid5

from connector.foundation.errors import SourceUnavailable
from connector.foundation.server_version import Product, ServerVersion
from connector.replication import server_errors
from connector.replication.start_point import ServerIdentity

# The namespace for `uuid5`: any constant, but it must never change.
_NAMESPACE = UUID("8f0a5a3e-6f0e-5b0e-9d3c-2f4d1c9b7a60")
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?")


def other_server_error(server_name: str) -> SourceUnavailable:
    """Return the error for two sessions with one address that are on two servers."""
    return SourceUnavailable(server_errors.ANOTHER_ANSWERED, server=server_name, answered=True)


class _Session(Protocol):
    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]: ...

    def variables(self, names: Sequence[str]) -> Mapping[str, str]: ...


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
        variables = server.variables(("server_uuid", "gtid_mode"))
        server_uuid = variables.get("server_uuid", "")
        # The server finds a position by GTID only if it is ON.
        gtid = variables.get("gtid_mode") == "ON"
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
    variables = server.variables(names)
    parts = [str(server_id), *(variables.get(name, "") for name in names)]
    return str(uuid5(_NAMESPACE, "\n".join(parts)))


_NAMES: Final = ("basedir", "aurora_version", "azure_server_name", "version_comment")
# Lists the table of settings, to the accounts that have rights on it.
RDS_TABLE: Final = (
    "SELECT 1 FROM information_schema.TABLES "
    "WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = 'rds_configuration'"
)
_RDS_FOLDER: Final = "/rdsdbbin/"
_AURORA_FOLDER: Final = "/rdsdbbin/oscar"


class Cloud(Enum):
    """A service, by its name."""

    RDS = "Amazon RDS"
    AURORA = "Amazon Aurora"
    CLOUD_SQL = "Google Cloud SQL"
    AZURE = "Azure Database"

    @property
    def has_rds_settings(self) -> bool:
        """Whether `mysql.rds_set_configuration` says how long the log is kept."""
        return self in (Cloud.RDS, Cloud.AURORA)


class _IdentifiedSession(Protocol):
    identity: ServerIdentity

    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]: ...

    def variables(self, names: Sequence[str]) -> Mapping[str, str]: ...


def read_cloud(server: _IdentifiedSession) -> Cloud | None:
    """Return the service that runs `server`; None if it shows no sign of one.

    Raises SourceUnavailable or SourceRefused.
    """
    cloud = cloud_of(server.identity.version, server.variables(_NAMES))
    # Only accounts with rights on the table see it.
    return Cloud.RDS if cloud is None and server.query(RDS_TABLE) else cloud


def cloud_of(version: str, variables: Mapping[str, str]) -> Cloud | None:
    """Return the service that gives its servers this version and these variables."""
    folder = variables.get("basedir", "")
    if "aurora_version" in variables or _AURORA_FOLDER in folder:
        return Cloud.AURORA
    if _RDS_FOLDER in folder:
        return Cloud.RDS
    if "-google" in version or "(Google)" in variables.get("version_comment", ""):
        return Cloud.CLOUD_SQL
    if "azure_server_name" in variables or "-azure" in version:
        return Cloud.AZURE
    return None


def version_of(identity: ServerIdentity) -> ServerVersion:
    """Return the product and version that decide which rules are in force."""
    product = Product.MARIADB if identity.flavour == "mariadb" else Product.MYSQL
    return ServerVersion(product, identity.version_number)
