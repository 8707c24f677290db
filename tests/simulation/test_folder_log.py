"""The schedules of `test_schedules` with the log in a folder, whose process is killed, too.

SEED=n plays one that failed.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.length import length
from tests.simulation.faults import Seeded
from tests.simulation.folder_broker import FolderCluster
from tests.simulation.run import finish, prepare
from tests.simulation.story import random_story
from tests.simulation.test_schedules import KINDS, Kind
from tests.simulation.verdict import SOURCES, check_rising, check_story, scenario

if TYPE_CHECKING:
    from pathlib import Path

STORIES = length(short=2, full=12)
SEED = os.environ.get("SEED")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_log_in_a_folder_answers_as_the_model_of_a_broker(kind: Kind, tmp_path: Path) -> None:
    openings = 0
    for seed in range(STORIES) if SEED is None else [int(SEED)]:
        random = Random(f"{kind.name} {seed} folder")
        source = random.choice([each for each in SOURCES.values() if each.gtid or not kind.standby])
        story = random_story(random, random.randint(3, kind.groups_max), rows_max=kind.rows_max)
        chosen = scenario(story, source, standby=kind.standby)
        plan = Seeded(random, last_step=random.choice((60, 150)), extra=kind.extra)
        world = prepare(chosen.servers, plan, seed=seed, by_event=random.random() < 0.5)
        world.broker = cluster = FolderCluster(tmp_path / str(seed))
        try:
            finish(world)
            check_story(chosen, cluster)
            check_rising(cluster)
        except Exception as error:
            reason = f"SEED={seed} of {kind.name!r}: {type(error).__name__}: {error}"
            raise AssertionError(reason) from error
        openings += cluster.openings
    assert openings > STORIES
