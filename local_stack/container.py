"""Servers in containers, for machines with a Docker engine.

They are the official images, with the settings of the private servers; testcontainers removes them
when the owner ends. A server has the same port inside and outside, published only on 127.0.0.1. So
its address is the same for all clients, and stays the same after a restart.

https://testcontainers-python.readthedocs.io/
"""

import contextlib
import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

# Docker's client has no types, and a package of stubs is too much for two names.
from docker import from_env  # type: ignore[import-untyped]
from docker.errors import DockerException  # type: ignore[import-untyped]
from testcontainers.core.container import DockerContainer

from local_stack import sql_server, stack_errors
from local_stack.server import HOST, START_SECONDS, Endpoint, Server, free_port
from local_stack.stack_errors import LocalStackError

LOOK_SECONDS = 0.2
TAIL_LINES = 20


class ContainerServer(Server):
    """A server in its own container, which the first start creates and the stop removes."""

    def __init__(self, image: str) -> None:
        """Use `image`; Docker pulls it if necessary."""
        self.image = image
        self._container: DockerContainer | None = None
        self._endpoint: Endpoint | None = None

    @abstractmethod
    def _describe(self, container: DockerContainer, port: int) -> None:
        """Return the container's environment and the command that serves `port`."""

    @abstractmethod
    def _reach(self, port: int) -> Endpoint | None:
        """Return the endpoint if the server answers, None if it does not yet."""

    @property
    def endpoint(self) -> Endpoint:
        """The server's address; raises LocalStackError before the first start."""
        if self._endpoint is None:
            raise LocalStackError(stack_errors.CONTAINER_NOT_STARTED, image=self.image)
        return self._endpoint

    @property
    def pid(self) -> int:
        """The server's process id on the machine of the engine."""
        wrapped = self._wrapped()
        wrapped.reload()
        pid: int = wrapped.attrs["State"]["Pid"]
        return pid

    def start(self) -> Endpoint:
        """Start the container, or create a new one; return the server's endpoint.

        Raises LocalStackError if no Docker engine answers, or the server does not start.
        """
        require_engine()
        try:
            if self._container is None:
                port = free_port()
                self._container = self._make(port)
                self._container.start()
            else:
                port = self.endpoint.port
                self._wrapped().start()
        except DockerException as error:
            raise LocalStackError(
                stack_errors.CONTAINER_REFUSED, image=self.image, said=error
            ) from error
        self._endpoint = self._wait(port)
        return self._endpoint

    def stop(self) -> None:
        """Stop the server and remove its container with its data."""
        if self._container is not None:
            self._wrapped().stop()
            self._container.stop()
            self._container = None

    def kill(self) -> None:
        """End the server with SIGKILL; the container keeps its data for the next start."""
        self._wrapped().kill()

    def restart(self) -> Endpoint:
        """Stop the server and start it on the same port and data."""
        self._wrapped().stop()
        return self.start()

    def _make(self, port: int) -> DockerContainer:
        container = DockerContainer(self.image)
        # Docker's own client accepts an address with the port; testcontainers' signature does not.
        ports: dict[str, Any] = container.ports
        ports[f"{port}/tcp"] = (HOST, port)
        self._describe(container, port)
        return container

    def _wrapped(self) -> Any:
        if self._container is None:
            raise LocalStackError(stack_errors.CONTAINER_NOT_RUNNING, image=self.image)
        return self._container.get_wrapped_container()

    def _wait(self, port: int) -> Endpoint:
        deadline = time.monotonic() + START_SECONDS
        wrapped = self._wrapped()
        while time.monotonic() < deadline:
            endpoint = self._reach(port)
            if endpoint is not None:
                return endpoint
            wrapped.reload()
            if wrapped.status in ("exited", "dead"):
                break
            time.sleep(LOOK_SECONDS)
        tail = wrapped.logs(tail=TAIL_LINES).decode(errors="replace")
        raise LocalStackError(stack_errors.CONTAINER_SILENT, image=self.image, tail=tail)


class MysqlContainer(ContainerServer):
    """A MySQL source in a container."""

    root_password = "MYSQL_ROOT_PASSWORD"  # noqa: S105 - the name of a variable
    source_settings: Mapping[str, str] = sql_server.MYSQL_SOURCE_SETTINGS

    def __init__(
        self, version: str = "8.4", *, settings: Mapping[str, str | None] | None = None
    ) -> None:
        """Use the official image of `version`; `settings` as of a private server."""
        super().__init__(f"mysql:{version}")
        self._settings = {**self.source_settings, **(settings or {})}

    def _describe(self, container: DockerContainer, port: int) -> None:
        container.with_env(self.root_password, sql_server.ADMINISTRATOR_PASSWORD)
        chosen = [
            sql_server.option(name, value)
            for name, value in self._settings.items()
            if value is not None
        ]
        container.with_command([*chosen, f"--port={port}"])

    def _reach(self, port: int) -> Endpoint | None:
        endpoint = Endpoint(HOST, port, sql_server.ADMINISTRATOR, sql_server.ADMINISTRATOR_PASSWORD)
        return endpoint if sql_server.server_answers(endpoint) else None


class MariadbContainer(MysqlContainer):
    """A MariaDB source in a container."""

    root_password = "MARIADB_ROOT_PASSWORD"  # noqa: S105 - the name of a variable
    source_settings = sql_server.MARIADB_SOURCE_SETTINGS

    def __init__(
        self, version: str = "11.8", *, settings: Mapping[str, str | None] | None = None
    ) -> None:
        """Use the official image of `version`; `settings` as of a private server."""
        super().__init__(version, settings=settings)
        self.image = f"mariadb:{version}"


def require_engine() -> None:
    """Raise LocalStackError unless a Docker engine answers."""
    try:
        with contextlib.closing(from_env()) as client:
            client.ping()
    except DockerException as error:
        raise LocalStackError(stack_errors.NO_ENGINE, said=error) from error
