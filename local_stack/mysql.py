"""A private MySQL server, by default with the settings of a source.

https://dev.mysql.com/doc/refman/8.0/en/data-directory-initialization.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_stack.carriers import MYSQL_CARRIERS, install
from local_stack.installation import program_installation
from local_stack.server_settings import mysql_source_settings
from local_stack.sql_server import CREATE_ADMINISTRATOR, SMALL_SETTINGS, SqlServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_stack.cache import Cache
    from local_stack.installation import Installation


class MysqlServer(SqlServer):
    """A private MySQL server in one folder."""

    product = "MySQL"

    def __init__(
        self,
        directory: Path,
        *,
        version: str = "8.0",
        settings: Mapping[str, str | None] | None = None,
        executable: Path | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Serve `directory` with the downloaded `version`, or with the given `executable`.

        `settings` replace those of a source, by their names in an option file: None removes one, an
        empty value makes an option without a value (`skip_log_bin`).
        """
        super().__init__(directory, settings=settings, cache=cache)
        self.name = f"MySQL {version}" if executable is None else f"MySQL ({executable})"
        self._carried = version
        self._executable = executable

    def _install(self) -> Installation:
        if self._executable is not None:
            return program_installation(self._executable, self._cache)
        return install(self.product, MYSQL_CARRIERS, self._carried, self._cache)

    def _source_settings(self) -> dict[str, str]:
        return mysql_source_settings(self.version)

    def _small_settings(self) -> dict[str, str]:
        small = dict(SMALL_SETTINGS)
        # Debian's build needs a folder that only its package creates.
        small["secure_file_priv"] = "NULL"
        if self.version >= (8, 0, 30):
            small["innodb_redo_log_capacity"] = "16M"
        else:
            small["innodb_log_file_size"] = "16M"
        if self.version >= (8, 0, 11):
            small["mysqlx"] = "OFF"
        return small

    def _initialise(self, folder: Path, options: list[str]) -> None:
        script = folder / "administrator.sql"
        script.write_text(CREATE_ADMINISTRATOR)
        data = f"--datadir={folder / 'data'}"
        options = ["--initialize-insecure", data, f"--init-file={script}", *options]
        self._installation.run(options, folder / "initialise.log")
