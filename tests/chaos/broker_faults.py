"""A broker that is killed, stopped for a while, or has no room on its disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.chaos.broker import Broker
from tests.chaos.kind import Kind
from tests.chaos.pair import pause

if TYPE_CHECKING:
    from tests.chaos.stage import Stage


def broker_of(stage: Stage) -> Broker:
    """Return the broker of a run that has one."""
    assert isinstance(stage.log, Broker)
    return stage.log


def _kill(stage: Stage) -> None:
    broker = broker_of(stage)
    broker.server.kill()
    broker.start()


def _stop(stage: Stage) -> None:
    pause(broker_of(stage).server.pid, stage.chance.uniform(0.2, 5.0))


def _fill_disk(stage: Stage) -> None:
    broker = broker_of(stage)
    broker.disk.fill()
    # It ends itself once it cannot write; until then it is given time to.
    stage.wait_for(broker.has_ended, "the end of a broker whose disk is full")
    broker.disk.empty()
    broker.start()


BROKER_FAULTS = (
    Kind("broker: SIGKILL", 5, _kill),
    Kind("broker: SIGSTOP", 4, _stop),
)
DISK_FAULT = Kind("broker: disk full", 2, _fill_disk)
