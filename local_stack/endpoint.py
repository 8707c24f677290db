"""The address of a server, and the interface of all servers of the local stack."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import pymysql

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, and the administrator's login.

    A private Kafka broker has no users: both are empty.
    """

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    # A server that listens on this machine alone: nobody can read what passes, and a login without
    # TLS takes a hundredth of the time.
    private: bool = field(default=False, repr=False, compare=False)

    @property
    def bootstrap(self) -> str:
        """`host:port`, for Kafka's `bootstrap.servers`."""
        return f"{self.host}:{self.port}"


class Server(ABC):
    """A server that can be started, stopped and killed; a context manager stops it at the end."""

    @abstractmethod
    def start(self) -> Endpoint:
        """Start the server; return its endpoint when it answers, at once if it runs already."""

    @abstractmethod
    def stop(self) -> None:
        """Shut the server down cleanly and keep its data; nothing happens if it is stopped."""

    @abstractmethod
    def kill(self) -> None:
        """End the server with SIGKILL, like a power cut."""

    @abstractmethod
    def restart(self) -> Endpoint:
        """Stop the server if it runs, and start it on the same port and data."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """The process id of the running server."""

    @property
    @abstractmethod
    def endpoint(self) -> Endpoint:
        """The address of the started server."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


CONNECT_SECONDS = 10


def connect(
    endpoint: Endpoint, database: str | None = None, *, read_timeout_seconds: int | None = None
) -> pymysql.Connection[Cursor]:
    """Log in as the administrator; every statement is committed at once.

    `read_timeout_seconds` limits each wait for a response, including the greeting. Raises
    pymysql.err.OperationalError if the server does not answer or refuses.
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
        # Else TLS is used if the server offers it.
        ssl_disabled=True if endpoint.private else None,
        read_timeout=read_timeout_seconds,
    )
