"""A broker with two doors: the connector's leads through a link, ours does not.

Its data lie on a file system of their own where the system allows to make one, so that a full disk
can be had without filling somebody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_stack import Endpoint, KafkaBroker
from local_stack.server import HOST, free_port
from local_stack.stack_errors import LocalStackError
from tests.chaos.disk import Disk
from tests.chaos.link import Link
from tests.chaos.log import DISK_BYTES, Log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Broker(Log):
    """One broker, its link, and its disk."""

    def __init__(self, directory: Path, *, own_disk: bool) -> None:
        self._directory = directory
        self.disk = Disk(directory / "disk", DISK_BYTES, mounted=own_disk)
        data = self.disk.folder / "data"
        # Where the broker looks whether it was formatted.
        (directory / "data").symlink_to(data)
        own, proxied = free_port(), free_port()
        (directory / "port").write_text(str(own))
        self.link = Link("kafka", Endpoint(HOST, proxied))
        controller = free_port()
        (directory / "controller_port").write_text(str(controller))
        listeners = {
            "PLAINTEXT": f"{HOST}:{own}",
            "PROXIED": f"{HOST}:{proxied}",
            "CONTROLLER": f"{HOST}:{controller}",
        }
        advertised = {"PLAINTEXT": f"{HOST}:{own}", "PROXIED": self.link.address}
        self.server = KafkaBroker(
            directory,
            settings={
                "listeners": _spelled(listeners),
                "advertised.listeners": _spelled(advertised),
                "listener.security.protocol.map": ",".join(f"{n}:PLAINTEXT" for n in listeners),
                "inter.broker.listener.name": "PLAINTEXT",
                "log.dir": str(data),
                "transaction.max.timeout.ms": "60000",
            },
        )

    def start(self) -> None:
        self.server.start()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(HOST, self.link.port)

    @property
    def client(self) -> Mapping[str, Any]:
        return {"bootstrap_servers": self.server.endpoint.bootstrap}

    def has_ended(self) -> bool:
        """Return whether the broker has ended by itself."""
        try:
            return not self.server.pid
        except LocalStackError:
            return True

    def stop(self, *, keep_data: bool) -> None:
        self.link.close()
        self.server.kill()
        self.disk.remove(self._directory / "data-at-the-end" if keep_data else None)


def _spelled(listeners: dict[str, str]) -> str:
    return ",".join(f"{name}://{address}" for name, address in listeners.items())
