"""Processes that are killed, stopped for a while, or asked to end."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from tests.chaos.kind import Kind
from tests.chaos.pair import pause

if TYPE_CHECKING:
    from tests.chaos.stage import Stage

# Of whoever is fenced, by Kafka or by the source.
_FENCED = "another instance took over|the same server_uuid/server_id|error 4052"


def kill_connector(stage: Stage) -> None:
    """Kill the connector, and start another one."""
    stage.connector.kill()
    stage.connector = stage.new_connector()


def _stop_connector(stage: Stage) -> None:
    pause(stage.connector.pid, stage.chance.uniform(0.2, 3.0))


def _end_connector(stage: Stage) -> None:
    stage.stop_connector()
    stage.connector = stage.new_connector()


def _second_connector(stage: Stage) -> None:
    older = stage.connector
    # One that has not begun would wake up last and rightly take over from the second one.
    stage.wait_until_streaming()
    older.send(signal.SIGSTOP)
    try:
        stage.connector = stage.new_connector()
        # Nobody reaches a log whose server is stopped.
        if stage.log.answers_without(older.pid):
            stage.wait_until_streaming()
        time.sleep(stage.chance.uniform(0.0, 0.5))
    finally:
        older.send(signal.SIGCONT)
    stage.wait_until_refused(older, _FENCED)


def _kill_source(stage: Stage) -> None:
    stage.pair.source_server.kill()
    time.sleep(stage.chance.uniform(0.0, 0.5))
    # Writers would settle their doubt by what is not yet what the server's log says.
    with stage.gate.held():
        stage.pair.restart_source()


def _stop_source(stage: Stage) -> None:
    pause(stage.pair.source_server.pid, stage.chance.uniform(0.2, 4.0))


def _kill_replica(stage: Stage) -> None:
    stage.pair.replica_server.kill()
    stage.pair.restart_replica()


def _stop_replica(stage: Stage) -> None:
    pause(stage.pair.replica_server.pid, stage.chance.uniform(0.2, 4.0))


PROCESS_FAULTS = (
    Kind("connector: SIGKILL", 12, kill_connector),
    Kind("connector: SIGTERM", 5, _end_connector),
    Kind("connector: SIGSTOP", 4, _stop_connector),
    Kind("connector: SIGSTOP, a second one takes over", 4, _second_connector),
    Kind("source: SIGKILL", 6, _kill_source),
    Kind("source: SIGSTOP", 4, _stop_source),
    Kind("replica: SIGKILL", 3, _kill_replica),
    Kind("replica: SIGSTOP", 2, _stop_replica),
)
