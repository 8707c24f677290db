"""Servers of the local stack: their interface and addresses, and the life of a private one.

A private server is prepared once, started on a constant port, and ended with its owner.
`ManagedServer` is the common base of MySQL, MariaDB, Kafka and others. A subclass prepares the
folder, gives the command that serves a port, and asks whether the server answers.
"""

from __future__ import annotations

import os
import platform
import random
import socket
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pymysql
from pymysql.cursors import Cursor

from local_stack import stack_errors
from local_stack.process import GuardedProcess, log_tail
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Collection


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


HOST = "127.0.0.1"
START_SECONDS = 120.0
LOOK_SECONDS = 0.05
# Below the ports of outgoing connections, which begin at 32768 (ip_local_port_range).
PORTS = range(20000, 32000)
# Another process may take a free port before the server does.
PORT_ATTEMPTS = 3


class ManagedServer(Server):
    """A private server process, with all its files in one folder."""

    # The server's name in error texts.
    name: str
    # What its log says if another process has its port.
    port_taken: str

    def __init__(self, directory: Path) -> None:
        """Keep data, log and port in `directory`, which the first start creates."""
        self.directory = directory.absolute()
        self.log = self.directory / "server.log"
        self._process: GuardedProcess | None = None
        self._endpoint: Endpoint | None = None

    @abstractmethod
    def _prepare(self) -> None:
        """Download the server and fill the folder, unless that was done before."""

    @abstractmethod
    def _command(self, port: int) -> list[str]:
        """Return the command that serves `port`."""

    @abstractmethod
    def _reach(self, port: int) -> Endpoint | None:
        """Return the endpoint if the server answers, None if it does not yet."""

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    @property
    def pid(self) -> int:
        """The process id of the running server; raises LocalStackError if it does not run."""
        if self._process is None or not self._process.is_running:
            raise LocalStackError(
                stack_errors.NOT_RUNNING, server=self.name, directory=self.directory
            )
        return self._process.pid

    @property
    def endpoint(self) -> Endpoint:
        """The server's address; raises LocalStackError before the first start."""
        if self._endpoint is None:
            raise LocalStackError(
                stack_errors.NOT_STARTED, server=self.name, directory=self.directory
            )
        return self._endpoint

    def start(self) -> Endpoint:
        """Start the server; return its endpoint when it answers.

        A folder with data is used as it is. Raises LocalStackError, with the end of the server's
        log, if the server ends or does not answer within two minutes.
        """
        if self._process is not None and not self._process.wait(0):
            return self.endpoint
        _require_platform()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._prepare()
        kept = self.directory / "port"
        chosen = int(kept.read_text()) if kept.exists() else None
        for _ in range(PORT_ATTEMPTS):
            port = chosen or free_port()
            endpoint = self._serve(port) if is_free(port) else None
            if endpoint is not None:
                kept.write_text(str(port))
                self._endpoint = endpoint
                return endpoint
            if chosen is not None:
                raise LocalStackError(
                    stack_errors.PORT_TAKEN, server=self.name, port=chosen, file=kept
                )
        raise LocalStackError(stack_errors.PORTS_TAKEN, server=self.name, attempts=PORT_ATTEMPTS)

    def stop(self) -> None:
        """Shut the server down cleanly; its data stays in the folder."""
        if self._process is not None:
            self._process.terminate()
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def restart(self) -> Endpoint:
        self.stop()
        return self.start()

    def _serve(self, port: int) -> Endpoint | None:
        """Return the endpoint, or None if the port was taken by another process."""
        start_of_log = self.log.stat().st_size if self.log.exists() else 0
        process = GuardedProcess(self._command(port), self.log, self._environment())
        try:
            endpoint = self._wait_until_it_answers(process, port)
        except BaseException:
            process.kill()
            raise
        if endpoint is not None:
            self._process = process
            return endpoint
        if process.is_running:
            process.kill()
            raise LocalStackError(
                stack_errors.NO_ANSWER,
                server=self.name,
                port=port,
                seconds=START_SECONDS,
                log=self.log,
                tail=log_tail(self.log),
            )
        with self.log.open("rb") as log:
            log.seek(start_of_log)
            if self.port_taken.encode() in log.read():
                return None
        raise LocalStackError(
            stack_errors.ENDED_EARLY, server=self.name, log=self.log, tail=log_tail(self.log)
        )

    def _wait_until_it_answers(self, process: GuardedProcess, port: int) -> Endpoint | None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            endpoint = self._reach(port)
            # The answer counts only if our process lives: another server may use the port.
            if process.wait(0):
                return None
            if endpoint is not None:
                return endpoint
            time.sleep(LOOK_SECONDS)
        return None


def free_port() -> int:
    """Return a free TCP port of 127.0.0.1.

    It is not in the range of outgoing connections. While the server is down, a client that retries
    such a port could get it as its own local port, and connect to itself. A seed does not matter:
    tests that run side by side with one seed would choose the ports of each other's servers.
    """
    (port,) = free_ports(1)
    return port


def free_ports(count: int, others: Collection[int] = ()) -> list[int]:
    """Return different ports as `free_port` does, and none of `others`."""
    first = random.SystemRandom().randrange(len(PORTS))
    free = (port for port in chain(PORTS[first:], PORTS[:first]) if port not in others)
    found = list(islice(filter(is_free, free), count))
    if len(found) < count:
        raise LocalStackError(stack_errors.NO_PORT, host=HOST, first=PORTS[0], last=PORTS[-1])
    return found


def is_free(port: int) -> bool:
    """Return whether no process listens on `port` of 127.0.0.1."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return False
    return True


def _require_platform() -> None:
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise LocalStackError(stack_errors.PLATFORM, system=system, machine=machine)
