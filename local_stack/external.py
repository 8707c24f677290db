"""A server of the user, with the interface of the private servers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pymysql

from connector.errors import LocalStackError, local_stack
from local_stack.endpoint import CONNECT_SECONDS, Endpoint, Server, connect

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        raise LocalStackError(local_stack.OWN_PID, address=self.endpoint.bootstrap)

    def start(self) -> Endpoint:
        """Log in and return the endpoint; raises LocalStackError if that fails."""
        try:
            connect(self.endpoint, read_timeout_seconds=CONNECT_SECONDS).close()
        except pymysql.err.MySQLError as error:
            said = error.args[-1] if error.args else error
            raise LocalStackError(
                local_stack.LOGIN,
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
        raise LocalStackError(local_stack.OWN_KILL, address=self.endpoint.bootstrap)

    def restart(self) -> Endpoint:
        """Refuse; raises LocalStackError."""
        raise LocalStackError(local_stack.OWN_RESTART, address=self.endpoint.bootstrap)


def parse_address(address: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Read `[USER[:PASSWORD]@]HOST[:PORT]`; without a password, the environment has it.

    User and password may be percent-encoded. Raises LocalStackError for any other form.
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise LocalStackError(local_stack.NO_ADDRESS) from None
    if not host or parts.path or parts.query or parts.fragment:
        raise LocalStackError(local_stack.NO_ADDRESS)
    user = unquote(parts.username or DEFAULT_USER)
    if parts.password is None:
        password = environment.get(PASSWORD_VARIABLE, "")
    else:
        password = unquote(parts.password)
    return Endpoint(host, port or DEFAULT_PORT, user, password)
