"""Private MySQL and MariaDB servers, by default with the settings of a source.

::

    DIRECTORY
    ├── data/         the data directory: a copy of the cache's template at the first start
    ├── server.log    what the server writes, over all starts
    └── port          the port that it has had since the first start

The administrator is root; the password is not secret, because the server listens only on 127.0.0.1.

*Settings.* `configs/mysql/` and `docker-compose.yml` repeat them, and a test compares the three.
`configs/mysql/` says which server has which default.

*MariaDB.* `mariadb-install-db` is a shell script for an installed server. It gives SQL scripts to
`mariadbd --bootstrap`, and so does this module.

https://dev.mysql.com/doc/refman/8.0/en/data-directory-initialization.html
https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html
https://mariadb.com/docs/server/clients-and-utilities/deployment-tools/mariadb-install-db
https://mariadb.com/docs/server/ha-and-performance/standard-replication/replication-and-binary-log-system-variables
"""

import hashlib
import os
import shutil
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pymysql

from local_stack.cache import Cache
from local_stack.certificate import CERTIFICATE, KEY, write_certificate
from local_stack.installation import (
    MARIADB_PACKAGES,
    MYSQL_PACKAGES,
    Installation,
    install,
    program_installation,
)
from local_stack.server import HOST, Endpoint, ManagedServer, connect

ADMINISTRATOR = "root"
ADMINISTRATOR_PASSWORD = "local-stack"  # noqa: S105 - not a secret, see above

# Logs in over TCP. The address is an IP address, so the server need not resolve host names.
# MariaDB's scripts have created this account already.
CREATE_ADMINISTRATOR = f"""\
CREATE USER IF NOT EXISTS '{ADMINISTRATOR}'@'{HOST}';
ALTER USER '{ADMINISTRATOR}'@'{HOST}' IDENTIFIED BY '{ADMINISTRATOR_PASSWORD}';
GRANT ALL PRIVILEGES ON *.* TO '{ADMINISTRATOR}'@'{HOST}' WITH GRANT OPTION;
"""

GREETING_SECONDS = 5

# Settings at the creation of the data directory, which every start must repeat.
INITIAL_SETTINGS = frozenset(
    {"lower_case_table_names", "innodb_page_size", "innodb_data_file_path"}
)

# For both products: small and fast, not safe against a power cut of the machine. A SIGKILL loses
# nothing.
SMALL_SETTINGS: Mapping[str, str] = {
    "innodb_buffer_pool_size": "64M",
    "innodb_flush_log_at_trx_commit": "2",
    "sync_binlog": "0",
    "performance_schema": "OFF",
    "skip_name_resolve": "ON",
    # A machine gives out requests for asynchronous I/O for about 25 servers.
    "innodb_use_native_aio": "OFF",
}


class SqlServer(ManagedServer):
    """A private server that speaks MySQL's protocol."""

    product: str
    port_taken = "Bind on TCP/IP port"

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str | None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Serve `directory`; see the subclasses."""
        super().__init__(directory)
        self._chosen = dict(settings or {})
        self._cache = cache or Cache.of_environment()
        self._installed: Installation | None = None

    @abstractmethod
    def _install(self) -> Installation:
        """Return the server's program, downloaded if necessary."""

    @abstractmethod
    def _small_settings(self) -> dict[str, str]:
        """Return the settings that make this version small and fast."""

    @abstractmethod
    def _source_settings(self) -> dict[str, str]:
        """Return the settings that this version needs as a source."""

    @abstractmethod
    def _initialise(self, folder: Path, options: list[str]) -> None:
        """Create the data directory `folder/data`, with the administrator."""

    @property
    def version(self) -> tuple[int, int, int]:
        """The version that the program reports; the program is downloaded if necessary."""
        return self._installation.version

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the server's start, by their names in an option file."""
        merged = {**self._small_settings(), **self._source_settings(), **self._chosen}
        return {name: value for name, value in merged.items() if value is not None}

    @property
    def _installation(self) -> Installation:
        if self._installed is None:
            self._installed = self._install()
        return self._installed

    def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        template = self._cache.folder(self._template_name(), self._fill_template)
        unfinished = data.with_name("data.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(template / "data", unfinished)
        # The file has the server_uuid, which must differ from server to server.
        (unfinished / "auto.cnf").unlink(missing_ok=True)
        unfinished.rename(data)

    def _template_name(self) -> str:
        version = ".".join(str(part) for part in self.version)
        made_of = [*self._installation.command, *_options(self._initial_settings())]
        digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:8]
        return f"templates/{self.product.lower()}-{version}-{digest}"

    def _fill_template(self, folder: Path) -> None:
        self._initialise(folder, [*_options(self._initial_settings()), *_as_user()])

    def _initial_settings(self) -> dict[str, str]:
        chosen = {name: value for name, value in self.settings.items() if name in INITIAL_SETTINGS}
        return {**self._small_settings(), **chosen}

    def _command(self, port: int) -> list[str]:
        installation = self._installation
        return [
            *installation.command,
            *installation.options,
            f"--datadir={self.directory / 'data'}",
            f"--pid-file={self.directory / 'server.pid'}",
            # In the data directory: an absolute path may exceed the allowed 107 bytes.
            "--socket=server.sock",
            # A starting server deletes temporary tables: in /tmp, they could belong to another
            # server.
            f"--tmpdir={self.directory}",
            f"--bind-address={HOST}",
            f"--port={port}",
            *_options(self.settings),
            *_as_user(),
        ]

    def _environment(self) -> dict[str, str]:
        return self._installation.environment()

    def _reach(self, port: int) -> Endpoint | None:
        endpoint = Endpoint(HOST, port, ADMINISTRATOR, ADMINISTRATOR_PASSWORD, private=True)
        return endpoint if server_answers(endpoint) else None


def server_answers(endpoint: Endpoint) -> bool:
    """Return whether the administrator can log in at `endpoint`."""
    try:
        # A stopping server, or another program, may accept the connection and send no greeting.
        connect(endpoint, read_timeout_seconds=GREETING_SECONDS).close()
    except pymysql.err.OperationalError:
        return False
    return True


def option(name: str, value: str) -> str:
    """Return a setting as an option of the command; an empty value gives an option without one."""
    return f"--{name}={value}" if value else f"--{name}"


def _options(settings: Mapping[str, str]) -> list[str]:
    return [option(name, value) for name, value in settings.items()]


def _as_user() -> list[str]:
    """Return the option for root: both servers refuse to run as root without it."""
    return ["--user=root"] if os.geteuid() == 0 else []


MYSQL_SOURCE_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # Off by default in 5.7; on by default since 8.0.
        "log_bin": "binlog",
        "server_id": "1",
        "binlog_format": "ROW",
        # Every column in both images, so that a change can be understood alone.
        "binlog_row_image": "FULL",
        # Names, signs, character sets and labels in the log; MINIMAL is the default.
        "binlog_row_metadata": "FULL",
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
    }
)

MARIADB_SOURCE_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "log_bin": "binlog",
        "server_id": "1",
        # MIXED is the default.
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        # NO_LOG is the default.
        "binlog_row_metadata": "FULL",
        # GTIDs are always on; strict mode refuses a sequence number that is out of order.
        "gtid_strict_mode": "ON",
    }
)


def mysql_source_settings(version: tuple[int, int, int]) -> dict[str, str]:
    """Return the settings of a source that MySQL `version` supports."""
    settings = dict(MYSQL_SOURCE_SETTINGS)
    if version < (8, 0, 1):
        # Row events of 5.7 have only types; names come from information_schema.
        del settings["binlog_row_metadata"]
    return settings


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
        return install(self.product, MYSQL_PACKAGES, self._carried, self._cache)

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
        return install(self.product, MARIADB_PACKAGES, self._carried, self._cache)

    def _source_settings(self) -> dict[str, str]:
        return dict(MARIADB_SOURCE_SETTINGS)

    def _small_settings(self) -> dict[str, str]:
        small = {**SMALL_SETTINGS, "innodb_log_file_size": "16M"}
        if self._makes_certificates:
            small |= {"ssl_cert": CERTIFICATE, "ssl_key": KEY}
        return small

    @property
    def _makes_certificates(self) -> bool:
        """Whether it offers TLS without a certificate, for which it makes a key at each start."""
        return self.version >= (11, 4, 1)

    def _initialise(self, folder: Path, options: list[str]) -> None:
        data = folder / "data"
        data.mkdir()
        if self._makes_certificates:
            write_certificate(data, self.name)
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
