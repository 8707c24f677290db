"""The service that runs a server, by what the server says of itself to every account.

A service takes SET PERSIST and the option file away from its customers, so each has other advice.

- Amazon RDS installs its servers in /rdsdbbin, and has a table of settings in `mysql`.
- Amazon Aurora adds variables of its own; its folder is named after the engine.
- Google Cloud SQL and Azure add their names to the version.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from connector.progress.server_identity import ServerIdentity

_NAMES: Final = ("basedir", "aurora_version", "azure_server_name", "version_comment")
_VARIABLES: Final = "SHOW GLOBAL VARIABLES WHERE Variable_name IN (%s, %s, %s, %s)"
_RDS_TABLE: Final = (
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


class _Session(Protocol):
    identity: ServerIdentity

    def query(self, sql: str, args: Sequence[object] = ()) -> list[dict[str, object]]: ...


def read_cloud(server: _Session) -> Cloud | None:
    """Return the service that runs `server`; None if it shows no sign of one.

    Raises SourceUnavailable or SourceRefused.
    """
    rows = server.query(_VARIABLES, _NAMES)
    variables = {str(row["Variable_name"]): str(row["Value"]) for row in rows}
    found = cloud_of(server.identity.version, variables)
    # Only accounts with rights on the table see it.
    return Cloud.RDS if found is None and server.query(_RDS_TABLE) else found


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
