"""A mirror of each mode holds what its model says, however the changes were cut and repeated."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.delta.table import DeltaTable
from tests.integration.mirror.mode_story import Story
from tests.length import length
from tests.stream_jobs.mode_models import MODES, ModeModel
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

NOTE = column("note", "varchar", length=9)
RUNS = length(short=2, full=20)
SEEDS = range(length(short=1, full=4))


class Death(Exception):
    """The end of a process."""


def mortal_commit(lives: int) -> Callable[..., object]:
    """A commit that the process does not survive the last time."""
    commit = DeltaTable.commit
    left = count(lives, -1)

    def mortal(*arguments: Any) -> object:
        if next(left) <= 1:
            raise Death
        return commit(*arguments)

    return mortal


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_mirror_is_what_the_model_says_after_every_run(
    kafka: Kafka,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    mode: ModeModel,
) -> None:
    dice = random.Random(f"{seed}{mode}")
    columns = (column("id", "int", key=int(mode.has_key)), NOTE)
    story = Story(SourceTable(kafka, "items", columns).create(), dice, keys=6)
    sections: dict[str, Any] = {
        "tables": [{"match": ["shop.*"], "mode": mode.name}],
        "kafka": {"max_offsets_per_trigger": 25},
    }
    for _ in range(RUNS):
        story.go_on(60)
        with monkeypatch.context() as patched, suppress(Death):
            patched.setattr(DeltaTable, "commit", mortal_commit(dice.randint(1, 6)))
            job.run(**sections)
        if dice.random() < 0.3:
            job.delete_checkpoint()
        lines = job.run(**sections)
        assert job.exit_code == 0, lines
        rows = job.data("items").to_pylist()
        assert mode.found(rows) == mode.wanted(story.changes)
