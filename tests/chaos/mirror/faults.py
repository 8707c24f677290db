"""What strikes: processes that end or stop, things that are lost, and other writers."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_jobs.delta.compaction import CompactionLimits
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from tests.chaos.connector_process import KILLED_BY_SIGTERM
from tests.chaos.failure import ChaosFailure
from tests.chaos.mirror.hanging import abort_hanging
from tests.chaos.mirror.stage import PREFIX
from tests.stream_jobs.delta.other_writer import compact

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chaos.mirror.stage import Stage

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault, and how often it is chosen."""

    name: str
    weight: int
    strike: Callable[[Stage], None]


def _kill_job(stage: Stage) -> None:
    stage.job.kill()
    stage.job.start()


def _end_job(stage: Stage) -> None:
    code = stage.job.end()
    # It may have failed at the same moment, because of another fault.
    if code is None:
        reason = f"SIGTERM: the job did not end:\n{stage.job.last_words()}"
        raise ChaosFailure(reason)
    stage.job.start()


def _stop_job(stage: Stage) -> None:
    stage.pause(stage.job, stage.chance.uniform(0.5, 5.0))


def _lose_checkpoint(stage: Stage) -> None:
    stage.job.kill()
    shutil.rmtree(stage.directory / "job" / "checkpoint", ignore_errors=True)
    stage.job.start()


def _lose_indexes(stage: Stage) -> None:
    shutil.rmtree(stage.directory / "job" / "indexes", ignore_errors=True)


def _kill_connector(stage: Stage) -> None:
    stage.connector.kill()
    stage.connector.start()


def _end_connector(stage: Stage) -> None:
    is_silent = stage.connector.is_silent
    code = stage.connector.end()
    # A process that has just been started does not listen to signals yet.
    if code != 0 and not (is_silent and code == KILLED_BY_SIGTERM):
        reason = f"SIGTERM: the connector ended with {code}:\n{stage.connector.last_words()}"
        raise ChaosFailure(reason)
    stage.connector.start()


def _kill_source(stage: Stage) -> None:
    stage.server.kill()
    time.sleep(stage.chance.uniform(0.0, 2.0))
    stage.server.start()


def _kill_broker(stage: Stage) -> None:
    stage.broker.kill()
    time.sleep(stage.chance.uniform(0.0, 2.0))
    stage.broker.start()
    stage.figures["hanging transactions of the broker"] += abort_hanging(
        stage.broker.endpoint, PREFIX
    )


def _compact(stage: Stage) -> None:
    """Do as OPTIMIZE of another program does."""
    for table in stage.chance.sample(stage.tables, min(5, len(stage.tables))):
        path = f"{table.database}/t"
        try:
            delta = DeltaTable.open(LocalStorage(str(stage.mirrors)), path)
            if delta is not None:
                stage.figures["files that another writer compacted"] += compact(
                    delta, ["id"], CompactionLimits(_MIB, _MIB)
                )
        except (FileNotFoundError, MirrorError):
            # The job has removed a file meanwhile; OPTIMIZE fails as well then.
            continue


FAULTS = (
    Fault("job: SIGKILL", 8, _kill_job),
    Fault("job: SIGTERM", 3, _end_job),
    Fault("job: SIGSTOP", 3, _stop_job),
    Fault("job: checkpoint lost", 2, _lose_checkpoint),
    Fault("job: key indexes lost", 2, _lose_indexes),
    Fault("connector: SIGKILL", 5, _kill_connector),
    Fault("connector: SIGTERM", 2, _end_connector),
    Fault("source: SIGKILL", 4, _kill_source),
    Fault("broker: SIGKILL", 3, _kill_broker),
    Fault("another writer compacts", 6, _compact),
)
