"""The source that the user chose: a private server, a container, or a server of the user's own.

The user's own server has the interface of the private servers, but is never started or stopped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pymysql

from local_stack import stack_errors
from local_stack.server import CONNECT_SECONDS, Endpoint, Server, connect
from local_stack.sql_server import MariadbServer, MysqlServer
from local_stack.stack_errors import LocalStackError

PASSWORD_VARIABLE = "BINLOG_CONNECTOR_SOURCE__PASSWORD"  # noqa: S105 - the name of a variable
DEFAULT_PORT = 3306
DEFAULT_USER = "root"


class ExternalServer(Server):
    """The user's own MySQL or MariaDB: it is never started or stopped."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Use the server at `endpoint`."""
        self._endpoint = endpoint

    @property
    def endpoint(self) -> Endpoint:
        """The address from the user."""
        return self._endpoint

    @property
    def pid(self) -> int:
        """Unknown; raises LocalStackError."""
        raise LocalStackError(stack_errors.OWN_PID, address=self.endpoint.bootstrap)

    def start(self) -> Endpoint:
        """Log in and return the endpoint; raises LocalStackError if that fails."""
        try:
            connect(self.endpoint, read_timeout_seconds=CONNECT_SECONDS).close()
        except pymysql.err.MySQLError as error:
            said = error.args[-1] if error.args else error
            raise LocalStackError(
                stack_errors.LOGIN,
                address=self.endpoint.bootstrap,
                user=self.endpoint.user,
                said=said,
                variable=PASSWORD_VARIABLE,
            ) from error
        return self.endpoint

    def stop(self) -> None:
        """Nothing happens: the server belongs to the user."""

    def kill(self) -> None:
        """Refuse; raises LocalStackError."""
        raise LocalStackError(stack_errors.OWN_KILL, address=self.endpoint.bootstrap)

    def restart(self) -> Endpoint:
        """Refuse; raises LocalStackError."""
        raise LocalStackError(stack_errors.OWN_RESTART, address=self.endpoint.bootstrap)


def parse_address(address: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Read `[USER[:PASSWORD]@]HOST[:PORT]`; without a password, the environment has it.

    User and password may be percent-encoded. Raises LocalStackError for any other form.
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise LocalStackError(stack_errors.NO_ADDRESS) from None
    if not host or parts.path or parts.query or parts.fragment:
        raise LocalStackError(stack_errors.NO_ADDRESS)
    user = unquote(parts.username or DEFAULT_USER)
    if parts.password is None:
        password = environment.get(PASSWORD_VARIABLE, "")
    else:
        password = unquote(parts.password)
    return Endpoint(host, port or DEFAULT_PORT, user, password)


Product = Literal["mysql", "mariadb"]


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The source: a private server, unless one of the last three fields is given."""

    product: Product = "mysql"
    executable: Path | None = None  # a mysqld that the user has installed
    address: str | None = None  # [USER[:PASSWORD]@]HOST[:PORT] of a server that the user runs
    container: bool = False


def source_server(choice: SourceChoice, directory: Path) -> Server:
    """Return the chosen server, not started yet; a private one keeps its files in `directory`.

    Raises LocalStackError for a contradictory choice, or a server that is not available here.
    """
    given = [choice.executable is not None, choice.address is not None, choice.container]
    if sum(given) > 1:
        raise LocalStackError(stack_errors.CHOICES)
    if choice.executable is not None:
        if choice.product != "mysql":
            raise LocalStackError(stack_errors.MYSQLD_ALONE, product=choice.product)
        return MysqlServer(directory, executable=choice.executable)
    if choice.address is not None:
        return ExternalServer(parse_address(choice.address))
    if choice.container:
        return _container(choice.product)
    return MysqlServer(directory) if choice.product == "mysql" else MariadbServer(directory)


def _container(product: Product) -> Server:
    try:
        # Docker's client is in an extra, because only some users need it.
        from local_stack.container import MariadbContainer, MysqlContainer  # noqa: PLC0415
    except ImportError as error:
        raise LocalStackError(stack_errors.NO_CONTAINERS, package=error.name) from error
    return MysqlContainer() if product == "mysql" else MariadbContainer()
