"""A private MariaDB server, by default with the settings of a source.

`mariadb-install-db` is a shell script for an installed server. It gives SQL scripts to `mariadbd
--bootstrap`, and so does this module.

https://mariadb.com/docs/server/clients-and-utilities/deployment-tools/mariadb-install-db
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_stack.carriers import MARIADB_CARRIERS, install
from local_stack.server_settings import MARIADB_SOURCE_SETTINGS
from local_stack.sql_server import CREATE_ADMINISTRATOR, SMALL_SETTINGS, SqlServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_stack.cache import Cache
    from local_stack.installation import Installation

# The scripts were renamed in 11.x, like the programs; 10.5 does not have the last one.
SCRIPTS = (
    "{prefix}_system_tables.sql",
    "{prefix}_performance_tables.sql",
    "{prefix}_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "{prefix}_sys_schema.sql",
)


class MariadbServer(SqlServer):
    """A private MariaDB server in one folder."""

    product = "MariaDB"

    def __init__(
        self,
        directory: Path,
        *,
        version: str = "11.8",
        settings: Mapping[str, str | None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Serve `directory` with the downloaded `version`.

        `settings` replace those of a source, by their names in an option file: None removes one, an
        empty value makes an option without a value (`skip_log_bin`).
        """
        super().__init__(directory, settings=settings, cache=cache)
        self.name = f"MariaDB {version}"
        self._carried = version

    def _install(self) -> Installation:
        return install(self.product, MARIADB_CARRIERS, self._carried, self._cache)

    def _source_settings(self) -> dict[str, str]:
        return dict(MARIADB_SOURCE_SETTINGS)

    def _small_settings(self) -> dict[str, str]:
        return {**SMALL_SETTINGS, "innodb_log_file_size": "16M"}

    def _initialise(self, folder: Path, options: list[str]) -> None:
        data = folder / "data"
        data.mkdir()
        options = [
            "--bootstrap",
            f"--datadir={data}",
            "--enforce-storage-engine=",
            "--max-allowed-packet=8M",
            "--net-buffer-length=16K",
            *options,
        ]
        self._installation.run(options, folder / "initialise.log", self._bootstrap_script())

    def _bootstrap_script(self) -> str:
        share = self._installation.share
        assert share is not None
        prefix = "mariadb" if (share / "mariadb_system_tables.sql").exists() else "mysql"
        files = [share / name.format(prefix=prefix) for name in SCRIPTS]
        parts = [
            # Without this, root could log in only through the socket, as the same system user.
            "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n",
            *(file.read_text(encoding="utf-8") for file in files if file.exists()),
            # During bootstrap, grants work only after FLUSH PRIVILEGES.
            "\nFLUSH PRIVILEGES;\n",
            CREATE_ADMINISTRATOR,
        ]
        return "".join(parts)
