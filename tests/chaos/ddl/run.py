"""Statements of a grammar for some minutes, and mirrors that must be equal to what they leave."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING, Final

from local_stack import MariadbServer
from tests.chaos.ddl.database import RandomDatabase
from tests.chaos.ddl.faults import FAULTS
from tests.chaos.failure import ChaosFailure
from tests.chaos.mirror.modes import MODES
from tests.chaos.mirror.run import Outcome
from tests.chaos.mirror.stage import Stage
from tests.integration.logging_rules.player import version_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_stack import MysqlServer

_COMPARE_SECONDS: Final = 60.0
# A job that was just killed starts anew, for minutes on a machine that does much else.
_EQUAL_SECONDS: Final = 900.0
_PAUSE_SECONDS: Final = (1.0, 15.0)
# A table without a key in a mode that needs one, until it has one again; and the reverse.
_SET_ASIDE: Final = frozenset({"M311", "M408"})


def run(
    server: MysqlServer | MariadbServer,
    directory: Path,
    *,
    seed: int,
    minutes: float,
    tell: Callable[[str], None],
) -> Outcome:
    """Play for `minutes`; a failure is part of what is returned."""
    outcome = Outcome(seed)
    version = version_of(server)
    databases = [
        RandomDatabase(
            f"c{number:02}",
            mode,
            Random(f"{seed}-{mode.name}"),
            is_mariadb=isinstance(server, MariadbServer),
            leaves_out=version.leaves_out_generated,
        )
        for number, mode in enumerate(MODES.values())
    ]
    stage = Stage(
        server,
        directory,
        seed,
        databases,
        verifies=False,
        set_aside=_SET_ASIDE,
        equal_seconds=_EQUAL_SECONDS,
    )
    began = compared = time.monotonic()
    try:
        stage.start()
        stage.rest(_PAUSE_SECONDS[1])
        while time.monotonic() - began < minutes * 60:
            stage.rest(stage.chance.uniform(*_PAUSE_SECONDS))
            (fault,) = stage.chance.choices(FAULTS, [fault.weight for fault in FAULTS])
            tell(f"{time.monotonic() - began:5.0f} {fault.name}")
            fault.strike(stage)
            outcome.faults[fault.name] += 1
            if time.monotonic() - compared > _COMPARE_SECONDS:
                outcome.comparisons.append(stage.compare(tell))
                compared = time.monotonic()
        outcome.comparisons.append(stage.compare(tell))
        stage.prove_topics(tell)
    except ChaosFailure as error:
        outcome.failure = f"{error}\nLogs and data are kept in {directory}"
    finally:
        stage.stop()
        outcome.seconds = time.monotonic() - began
        outcome.figures, outcome.failures = stage.figures, stage.failures
        for process in stage.processes:
            outcome.ends += process.ends
            outcome.figures[f"starts of the {process.name}"] = process.starts
        for database in databases:
            outcome.changes += database.done
    return outcome
