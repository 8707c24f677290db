"""Faults strike for some minutes, and mirrors are compared with the source again and again."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from tests.chaos.failure import ChaosFailure
from tests.chaos.mirror.faults import FAULTS
from tests.chaos.mirror.modes import MODES
from tests.chaos.mirror.planted.dropped_updates import EVERY, drop_times
from tests.chaos.mirror.stage import PYTHON, Stage
from tests.chaos.mirror.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from local_stack import Server

_COMPARE_SECONDS: Final = 120.0
# A job needs some seconds to start; shorter pauses let it do nothing at all.
_PAUSE_SECONDS: Final = (1.0, 16.0)


@dataclass(slots=True)
class Outcome:
    """What a run has shown."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    # By exit code and by error code: how the job ended by itself.
    ends: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    comparisons: list[float] = field(default_factory=list)  # seconds until all were equal
    verified: Counter[str] = field(default_factory=Counter)
    # Of the planted bug: seconds from each drop until it was named, and what was said.
    bug: str = ""
    failure: str = ""


def run(
    server: Server,
    directory: Path,
    *,
    seed: int,
    minutes: float,
    tables: int,
    modes: Sequence[str],
    tell: Callable[[str], None],
    has_bug: bool = False,
    older: Path | None = None,
) -> Outcome:
    """Let faults strike for `minutes`; a failure is part of what is returned.

    With `older`, the interpreter of an older build, this build takes over after half of the time.

    With `has_bug`, nothing strikes: the run ends when the verification has named a dropped update,
    and it fails otherwise.
    """
    outcome = Outcome(seed)
    changing = [
        Table(f"c{number:02}", MODES[modes[number % len(modes)]], Random(seed + number))
        for number in range(tables)
    ]
    stage = Stage(server, directory, seed, changing, has_bug=has_bug, python=older or PYTHON)
    began = compared = time.monotonic()
    try:
        stage.start()
        stage.rest(_PAUSE_SECONDS[1])
        if has_bug:
            while time.monotonic() - began < minutes * 60 and stage.watch.named_at is None:
                stage.rest(1.0)
            outcome.bug = _named(stage)
            return outcome
        while time.monotonic() - began < minutes * 60:
            (fault,) = stage.chance.choices(FAULTS, [fault.weight for fault in FAULTS])
            tell(f"{time.monotonic() - began:5.0f} {fault.name}")
            fault.strike(stage)
            outcome.faults[fault.name] += 1
            if older is not None and time.monotonic() - began > minutes * 30:
                tell(f"{time.monotonic() - began:5.0f} upgrade")
                stage.upgrade()
                outcome.faults["upgrade"] += 1
                older = None
            stage.rest(stage.chance.uniform(*_PAUSE_SECONDS))
            if time.monotonic() - compared > _COMPARE_SECONDS:
                outcome.comparisons.append(stage.compare(tell))
                compared = time.monotonic()
        outcome.comparisons.append(stage.compare(tell))
        stage.verify(tell)
        stage.prove_topics(tell)
    except ChaosFailure as error:
        outcome.failure = f"{error}\nLogs and data are kept in {directory}"
    finally:
        stage.stop()
        outcome.seconds = time.monotonic() - began
        outcome.figures = stage.figures
        outcome.failures = stage.failures
        outcome.verified = _verified(stage)
        for process in stage.processes:
            outcome.ends += process.ends
            outcome.figures[f"starts of the {process.name}"] = process.starts
        for table in stage.tables:
            outcome.changes += table.done
    return outcome


def _named(stage: Stage) -> str:
    """Say when the bug was named. Raises ChaosFailure if it was not."""
    assert stage.bug is not None
    dropped, named_at = drop_times(stage.bug), stage.watch.named_at
    if named_at is None:
        reason = f"verify did not name one of {len(dropped)} dropped updates"
        raise ChaosFailure(reason)
    return (
        f"{len(dropped)} updates were dropped, each {EVERY:,}th one; the first was dropped "
        f"{named_at - dropped[0]:.1f} s, the last {named_at - dropped[-1]:.1f} s before verify "
        f"said: {stage.watch.named}"
    )


def _verified(stage: Stage) -> Counter[str]:
    watch = stage.watch
    return (
        Counter({"rounds": watch.rounds, "rows": watch.rows})
        + Counter({f"tables: {word}": count for word, count in watch.verdicts.items()})
        + Counter({f"with the error {code}": count for code, count in watch.codes.items()})
    )


def report(outcome: Outcome) -> str:
    """Return the figures of a run, for people."""
    summary = (
        f"seed {outcome.seed}, {outcome.seconds / 60:.1f} minutes, "
        f"{sum(outcome.faults.values())} faults, {len(outcome.comparisons)} comparisons"
    )
    lines = [
        summary,
        *_table("fault", outcome.faults),
        *_table("at the source", outcome.changes),
        *_table("in the job", outcome.figures),
        *_table("verify --forever", outcome.verified),
    ]
    if outcome.ends:
        lines += _table("the job ended by itself", Counter(map(str, outcome.ends.elements())))
    if outcome.failures:
        lines += _table("with the error", outcome.failures)
    said = outcome.bug or "all mirrors are equal, and verify has found no difference at any time"
    lines += ["", f"FAILED: {outcome.failure}" if outcome.failure else said]
    return "\n".join(lines)


def _table(title: str, counts: Counter[str]) -> list[str]:
    return ["", title, *(f"  {count:9,} {name}" for name, count in sorted(counts.items()))]
