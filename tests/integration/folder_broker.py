"""A log in a folder in the place of a broker: `make test-folder` runs the tests on it.

A process of its own serves the folder, so that a test can stop, kill and pause it as a broker. When
it is gone, a connector or a job that connects may serve; the test's own process never does.

A test that needs what a folder has not is skipped where it asks for it, with the reason: a port, a
broker of its own with other settings, a broker that does not answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import pytest

from connector.kafka.folder import door
from connector.kafka.folder.results import FolderInUse
from local_stack import Endpoint, KafkaBroker


class FolderEndpoint(Endpoint):
    """The address of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), 0)

    @property
    def bootstrap(self) -> str:
        return Path(self.host).as_uri()


class FolderBroker(KafkaBroker):
    """A process that serves a log in a folder, whenever no other process does."""

    name = "log folder"

    def __init__(self, directory: Path, folder: Path | None = None) -> None:
        """Keep what the process says in `directory`; the log is in `folder`, or there, too."""
        super().__init__(directory)
        self._folder = folder or self.directory / "log"

    def start(self) -> Endpoint:
        # Whether it answers is read there.
        self.log.unlink(missing_ok=True)
        return super().start()

    def _prepare(self) -> None:
        """Nothing is downloaded."""

    def _command(self, port: int) -> list[str]:  # noqa: ARG002 - a folder has none
        return [sys.executable, "-m", "tests.integration.folder_server", str(self._folder)]

    def _reach(self, port: int) -> Endpoint | None:  # noqa: ARG002 - a folder has none
        answers = self.log.exists() and "serves" in self.log.read_text()
        return FolderEndpoint(self._folder) if answers else None


def use_folders() -> None:
    """Let each test skip itself that starts a real broker, and leave folders to other processes."""
    KafkaBroker._prepare = _skip  # type: ignore[method-assign, assignment]
    leave_folders()


def leave_folders() -> None:
    """Let this process serve no folder."""
    door._serve = _wait  # type: ignore[assignment]


def _skip(broker: KafkaBroker) -> NoReturn:
    needed = (
        f"settings such as {min(broker._settings)}" if broker._settings else "a life of its own"
    )
    pytest.skip(f"a log in a folder has not: a broker with {needed}")


def _wait(_: Path) -> NoReturn:
    raise FolderInUse
