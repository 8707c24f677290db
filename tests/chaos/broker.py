"""A broker with two doors: the connector's leads through a link, ours does not.

Its data lie on a file system of their own where the system allows to make one, so that a full disk
can be had without filling somebody else's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from local_stack import Endpoint, KafkaBroker
from local_stack.server import HOST, free_port
from local_stack.stack_errors import LocalStackError
from tests.chaos.failure import ChaosFailure
from tests.chaos.link import Link

if TYPE_CHECKING:
    from pathlib import Path

DISK_BYTES = 2 * 1024**3
_ROOM = 128 * 1024


class Broker:
    """One broker, its link, and its disk."""

    def __init__(self, directory: Path, *, own_disk: bool) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self.disk = directory / "disk"
        self.disk.mkdir()
        # Why the disk is not one of its own; "" where it is.
        self.disk_refused = _mount(self.disk) if own_disk else "not asked for"
        # Where the broker looks whether it was formatted.
        (directory / "data").symlink_to(self.disk / "data")
        own, proxied = free_port(), free_port()
        (directory / "port").write_text(str(own))
        self._door = Endpoint(HOST, proxied)
        self.link = Link("kafka", self._door)
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
                "log.dir": str(self.disk / "data"),
                "transaction.max.timeout.ms": "60000",
            },
        )

    def start(self) -> None:
        self.server.start()

    @property
    def direct(self) -> str:
        return self.server.endpoint.bootstrap

    def fill_disk(self) -> None:
        """Leave so little room on the disk that it is full in a moment."""
        for room in range(_ROOM, DISK_BYTES, _ROOM):
            state = os.statvfs(self.disk)
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            # Refused where more was written meanwhile.
            if _remount(self.disk, used + room):
                return

    def empty_disk(self) -> None:
        """Give the room back."""
        if not _remount(self.disk, DISK_BYTES):
            reason = f"the file system of {self.disk} cannot be made larger again"
            raise ChaosFailure(reason)

    def has_ended(self) -> bool:
        """Return whether the broker has ended by itself."""
        try:
            return not self.server.pid
        except LocalStackError:
            return True

    def stop(self, *, keep_data: bool) -> None:
        """End the broker; what it holds can be kept in its folder."""
        self.link.close()
        self.server.kill()
        if not self.disk_refused:
            if keep_data:
                shutil.copytree(self.disk / "data", self._directory / "data-at-the-end")
            subprocess.run(["umount", str(self.disk)], check=True)


def _spelled(listeners: dict[str, str]) -> str:
    return ",".join(f"{name}://{address}" for name, address in listeners.items())


def _mount(folder: Path) -> str:
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "chaos", str(folder)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no command mount"
    return run.stderr.strip() or "mount failed" if run.returncode else ""


def _remount(folder: Path, size: int) -> bool:
    command = ["mount", "-o", f"remount,size={size}", str(folder)]
    return not subprocess.run(command, capture_output=True, check=False).returncode
