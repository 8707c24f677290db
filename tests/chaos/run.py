"""Faults that strike one after the other, each until everything has recovered."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tests.chaos.broker import Broker
from tests.chaos.broker_faults import BROKER_FAULTS, DISK_FAULT
from tests.chaos.failure import ChaosFailure
from tests.chaos.folder_faults import FOLDER_DISK_FAULT, FOLDER_FAULTS
from tests.chaos.log_folder import LogFolder
from tests.chaos.network_faults import BROKER_LINK_FAULTS, SOURCE_LINK_FAULTS
from tests.chaos.process_faults import PROCESS_FAULTS
from tests.chaos.source_faults import SOURCE_FAULTS
from tests.chaos.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.chaos.kind import Kind
    from tests.chaos.log import Log
    from tests.chaos.replication import Flavour
    from tests.chaos.verdict import Verdict

# Between two comparisons of everything.
_CHECKPOINT_FAULTS = 20
_RARELY = 100
# Of so many faults that may, one is followed by the next before the connector has recovered.
_RUSHED = 6
_TOLD = 5


@dataclass(slots=True)
class Outcome:
    """What one run has shown."""

    flavour: str
    seed: int
    folder: bool = False  # whether the log is in a folder, without a broker
    faults: int = 0
    seconds: float = 0.0
    # By kind: of each round the seconds of recovery, None where the next fault came before.
    rounds: dict[str, list[float | None]] = field(default_factory=lambda: defaultdict(list))
    verdicts: list[Verdict] = field(default_factory=list)  # the last one of each pipeline
    checkpoints: int = 0
    finished_by_hand: int = 0  # XA transactions whose end a server's recovery had left undone
    left_out: dict[str, str] = field(default_factory=dict)  # kinds, and why
    failure: str = ""


def run(
    flavour: Flavour,
    directory: Path,
    *,
    seed: int,
    faults: int,
    folder: bool = False,
    only: str = "",
    without: str = "",
    tell: Callable[[str], None],
) -> Outcome:
    """Let `faults` faults strike; a failure is part of what is returned.

    The log is in a `folder`, or in a broker. Kinds of faults are used whose names hold one of the
    parts of `only`, which `|` separates, and none of those of `without`.
    """
    outcome = Outcome(flavour.shown, seed, folder)
    disk_fault = FOLDER_DISK_FAULT if folder else DISK_FAULT
    of_log = FOLDER_FAULTS if folder else (*BROKER_FAULTS, *BROKER_LINK_FAULTS)
    every = (*PROCESS_FAULTS, *of_log, disk_fault, *SOURCE_LINK_FAULTS, *SOURCE_FAULTS)
    choice = [kind for kind in every if _is_named(kind, only, without)]
    begin = time.monotonic()
    place, own_disk = directory / "log", disk_fault in choice
    log: Log = LogFolder(place, own_disk=own_disk) if folder else Broker(place, own_disk=own_disk)
    stage = Stage(flavour, directory, seed, log)
    last: deque[str] = deque(maxlen=_TOLD)
    try:
        stage.start()
        if disk_fault in choice and log.disk.refused:
            choice.remove(disk_fault)
            outcome.left_out[disk_fault.name] = log.disk.refused
        for kind in _schedule(choice, faults, Random(seed)):
            _strike(stage, outcome, kind, last, tell)
        outcome.verdicts = [*stage.closed, stage.checkpoint()]
    except ChaosFailure as error:
        outcome.failure = _report(outcome, directory, last, str(error))
    except BaseException as error:
        outcome.failure = repr(error)
        tell(_report(outcome, directory, last, outcome.failure))
        raise
    finally:
        outcome.seconds = time.monotonic() - begin
        outcome.finished_by_hand = len(stage.pair.finished_by_hand)
        stage.stop(keep_data=bool(outcome.failure))
    return outcome


def _is_named(kind: Kind, only: str, without: str) -> bool:
    left_out = bool(without) and any(part in kind.name for part in without.split("|"))
    return not left_out and any(part in kind.name for part in only.split("|"))


def _schedule(choice: list[Kind], faults: int, chance: Random) -> Iterator[Kind]:
    """Yield each kind once, as far as there is room, and then by weight."""
    usual = [kind for kind in choice if not kind.rarely] or choice
    order = chance.sample(choice, len(choice))
    for number in range(faults):
        if number < len(order):
            yield order[number]
        elif number % _RARELY == 0 and len(choice) > len(usual):
            yield chance.choice([kind for kind in choice if kind.rarely])
        else:
            yield chance.choices(usual, [kind.weight for kind in usual])[0]


def _strike(
    stage: Stage, outcome: Outcome, kind: Kind, last: deque[str], tell: Callable[[str], None]
) -> None:
    outcome.faults += 1
    last.append(f"{outcome.faults}: {kind.name}")
    time.sleep(stage.chance.uniform(0.0, 0.4))
    struck = time.monotonic()
    kind.strike(stage)
    over = time.monotonic()
    seconds = None
    if kind.alone or stage.chance.randrange(_RUSHED):
        seconds = stage.recover(over)
    kind.aftermath(stage)
    outcome.rounds[kind.name].append(seconds)
    recovered = "the next one follows" if seconds is None else f"recovered in {seconds:.2f} s"
    tell(f"{outcome.faults:4} {kind.name}: {over - struck:.2f} s, {recovered}")
    if outcome.faults % _CHECKPOINT_FAULTS == 0:
        tell(f"     {stage.checkpoint()}")
        outcome.checkpoints += 1


def _report(outcome: Outcome, directory: Path, last: deque[str], found: str) -> str:
    return (
        f"{outcome.flavour}, seed {outcome.seed}, fault {outcome.faults}:\n{found}\n"
        f"The last faults: {'; '.join(last)}\nLogs and data are kept in {directory}"
    )
