"""Where a server answers, and what every kind of server of the local stack can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import pymysql

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and the administrator who may log in there.

    A Kafka broker of the local stack knows no users: both are empty.
    """

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def bootstrap(self) -> str:
        """`host:port`, as Kafka's `bootstrap.servers` wants it."""
        return f"{self.host}:{self.port}"


class Server(ABC):
    """A server that can be started, stopped and killed; a context manager stops it at the end."""

    @abstractmethod
    def start(self) -> Endpoint:
        """Return where the server answers, once it does; of a running server, at once."""

    @abstractmethod
    def stop(self) -> None:
        """Shut the server down cleanly, its data kept; of a stopped server, do nothing."""

    @abstractmethod
    def kill(self) -> None:
        """End the server as a power cut would: SIGKILL."""

    @abstractmethod
    def restart(self) -> Endpoint:
        """Start the server again, on the same port and data, after a stop where it runs."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """The process id of the running server."""

    @property
    @abstractmethod
    def endpoint(self) -> Endpoint:
        """Where the started server answers."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


CONNECT_SECONDS = 10


def connect(
    endpoint: Endpoint, database: str | None = None, *, read_timeout_seconds: int | None = None
) -> pymysql.Connection[Cursor]:
    """Log in as the administrator; every statement commits itself.

    `read_timeout_seconds` bounds each wait for an answer, that for the greeting as well. Raises
    pymysql.err.OperationalError when the server does not answer or refuses.
    """
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        database=database,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_timeout_seconds,
    )
