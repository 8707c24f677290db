"""What strikes a run: processes that end or lag behind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from tests.chaos.mirror.faults import FAULTS as ALL
from tests.chaos.mirror.faults import Fault

if TYPE_CHECKING:
    from tests.chaos.mirror.stage import Stage

# Longer than a statement with its copy takes, so that several are in one batch.
_LAG_SECONDS: Final = (5.0, 25.0)
_OF_MIRROR: Final = frozenset(
    {
        "job: SIGKILL", "job: SIGSTOP", "job: key indexes lost", "connector: SIGKILL",
        "source: SIGKILL",
    }
)  # fmt: skip


def _connector_lags(stage: Stage) -> None:
    stage.connector.kill()
    time.sleep(stage.chance.uniform(*_LAG_SECONDS))
    stage.connector.start()


def _job_lags(stage: Stage) -> None:
    stage.job.kill()
    stage.rest(stage.chance.uniform(*_LAG_SECONDS))
    stage.job.start()


FAULTS: Final = (
    Fault("connector lags", 8, _connector_lags),
    Fault("job lags", 4, _job_lags),
    *(fault for fault in ALL if fault.name in _OF_MIRROR),
)
