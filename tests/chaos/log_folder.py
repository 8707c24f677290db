"""A log in a folder, which a process beside the connector or the connector itself serves.

Whoever of them connects first when nobody serves, does so until it ends. The process of the run
never does: it could not be killed.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, Any

from connector.kafka.folder import door
from connector.kafka.kafka_python import network_client
from tests.chaos.disk import Disk
from tests.chaos.log import DISK_BYTES, Log
from tests.integration import folder_broker
from tests.integration.folder_broker import FolderBroker, FolderEndpoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_stack import Endpoint

# Of a process at the other end of a socket: its id, user and group.
_CREDENTIALS = struct.Struct("3i")
# So long may nobody serve.
_SERVED_SECONDS = 3.0
_LOOK_SECONDS = 0.05


class LogFolder(Log):
    """The folder, its disk, and a process that serves it whenever no other one does."""

    def __init__(self, directory: Path, *, own_disk: bool) -> None:
        self._directory = directory
        self.disk = Disk(directory / "disk", DISK_BYTES, mounted=own_disk)
        self.folder = self.disk.folder / "log"
        self.server = FolderBroker(directory, self.folder)
        self._serve = door._serve

    def start(self) -> None:
        folder_broker.leave_folders()
        self.server.start()

    @property
    def endpoint(self) -> Endpoint:
        return FolderEndpoint(self.folder)

    @property
    def client(self) -> Mapping[str, Any]:
        return {"bootstrap_servers": self.endpoint.bootstrap, "kafka_client": network_client}

    def stop(self, *, keep_data: bool) -> None:
        door._serve = self._serve
        self.server.kill()
        self.disk.remove(self._directory / "log-at-the-end" if keep_data else None)

    def server_pid(self) -> int | None:
        """Return the process that serves; None if none does."""
        with socket.socket(socket.AF_UNIX) as asked, door._address(self.folder) as address:
            try:
                asked.connect(address)
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            facts = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, _, _ = _CREDENTIALS.unpack(facts)
        return int(pid)

    def answers_without(self, pid: int) -> bool:
        ends_at = time.monotonic() + _SERVED_SECONDS
        while (server := self.server_pid()) is None:
            # It may have been stopped when it had the lock, and did not listen yet.
            if time.monotonic() > ends_at:
                return False
            time.sleep(_LOOK_SECONDS)
        return server != pid
