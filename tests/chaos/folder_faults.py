"""A log in a folder: whoever serves it is killed or stopped, or its disk has no room."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.chaos.kind import Kind
from tests.chaos.log_folder import LogFolder
from tests.chaos.pair import pause
from tests.chaos.process_faults import kill_connector

if TYPE_CHECKING:
    from tests.chaos.stage import Stage

_FULL = "K603"


def _log_of(stage: Stage) -> LogFolder:
    assert isinstance(stage.log, LogFolder)
    return stage.log


def _server_pid(stage: Stage) -> int:
    found: list[int] = []

    def is_served() -> bool:
        pid = _log_of(stage).server_pid()
        found.extend([] if pid is None else [pid])
        return pid is not None

    stage.wait_for(is_served, "a process that serves the log")
    return found[-1]


def _kill_server(stage: Stage) -> None:
    if _server_pid(stage) == stage.connector.pid:
        kill_connector(stage)
        return
    server = _log_of(stage).server
    server.kill()
    # Mostly the connector is the first to come then.
    time.sleep(stage.chance.uniform(0.0, 1.0))
    server.start()


def _stop_server(stage: Stage) -> None:
    pause(_server_pid(stage), stage.chance.uniform(0.2, 5.0))


def _fill_disk(stage: Stage) -> None:
    disk, connector = _log_of(stage).disk, stage.connector
    before = connector.count(_FULL)
    disk.fill()
    stage.wait_for(
        lambda: connector.count(_FULL) > before, "a connector that says that the disk is full"
    )
    time.sleep(stage.chance.uniform(0.0, 2.0))
    disk.empty()


FOLDER_FAULTS = (
    Kind("server of the log: SIGKILL", 7, _kill_server),
    Kind("server of the log: SIGSTOP", 4, _stop_server),
)
FOLDER_DISK_FAULT = Kind("log: disk full", 3, _fill_disk)
