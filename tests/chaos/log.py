"""What a run writes to: a broker, or a folder without one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local_stack import Endpoint
    from tests.chaos.disk import Disk

DISK_BYTES = 2 * 1024**3


class Log(ABC):
    """Where the topics are, on a disk of their own."""

    disk: Disk

    @abstractmethod
    def start(self) -> None:
        """Answer at both addresses."""

    @property
    @abstractmethod
    def endpoint(self) -> Endpoint:
        """The address of the connector."""

    @property
    @abstractmethod
    def client(self) -> Mapping[str, Any]:
        """The settings by which the run's own clients reach it, past all faults of the network."""

    @abstractmethod
    def stop(self, *, keep_data: bool) -> None:
        """End; what it holds can be kept in its folder."""

    def answers_without(self, pid: int) -> bool:  # noqa: ARG002 - a broker is a process of its own
        """Return whether the log answers while a process of the connector is stopped."""
        return True
