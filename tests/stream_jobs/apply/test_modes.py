"""Each mode makes of the changes of a table what its model says."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import Sequence
from stream_jobs.apply.modes import MODES
from stream_jobs.source.sequence import PackedSequence
from tests.integration.life import story
from tests.integration.mirror import shared_deaths, test_modes_of_a_server
from tests.stream_jobs import mode_models
from tests.stream_jobs.apply.mode_table import ModeTable
from tests.stream_jobs.mode_models import Change, Row

if TYPE_CHECKING:
    from pathlib import Path

KEYS = 6


def change(position: int, op: str, before: Row | None = None, after: Row | None = None) -> Change:
    return Change(Sequence(1, 7, position, 0, 0), 1000 * position, op, before, after)


class Changes:
    """Random changes of a table, in order; truncates are the work of the driver."""

    def __init__(self, dice: random.Random, *, has_key: bool) -> None:
        self.all: list[Change] = []
        self._dice = dice
        self._has_key = has_key
        self._rows: list[Row] = []

    def more(self) -> list[Change]:
        """Return some of the last changes once more, and then new ones."""
        count = len(self.all)
        repeated = self.all[count - self._dice.randint(0, min(5, count)) :]
        for _ in range(self._dice.randint(1, 12)):
            self._step()
        return [*repeated, *self.all[count:]]

    def _step(self) -> None:
        dice, rows = self._dice, self._rows
        row = (dice.randrange(KEYS), dice.choice((None, "", "a", "b")))
        if self._has_key:
            old = next((each for each in rows if each[0] == row[0]), None)
        else:
            # Equal rows come about.
            old = dice.choice(rows) if rows and dice.random() < 0.5 else None
        if old is None and self._has_key and rows and dice.random() < 0.3:
            # An update that changes the key.
            self._add("d", dice.choice(rows))
            self._add("c", None, row)
        elif old is None:
            self._add(dice.choice("cr"), None, row)
        elif self._has_key and dice.random() < 0.3:
            self._add("r", None, dice.choice((old, row)))
        elif dice.random() < 0.5:
            self._add("u", old, row)
        elif self._has_key and dice.random() < 0.4:
            self._add("d", old[:1])
        else:
            self._add("d", old)

    def _add(self, op: str, before: Row | None = None, after: Row | None = None) -> None:
        self.all.append(change(len(self.all) + 1, op, before, after))
        named = before or after
        if self._has_key and named is not None:
            self._rows = [each for each in self._rows if each[0] != named[0]]
        elif before is not None:
            self._rows.remove(before)
        if after is not None:
            self._rows.append(after)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", mode_models.MODES, ids=str)
def test_a_mode_does_what_its_model_says(
    tmp_path: Path, mode: mode_models.ModeModel, seed: int
) -> None:
    table = ModeTable(tmp_path, mode.name, has_key=mode.has_key)
    changes = Changes(random.Random(f"{seed}{mode}"), has_key=mode.has_key)
    for _ in range(8):
        table.apply(changes.more())
        assert mode.found(table.rows()) == mode.wanted(changes.all)


def test_a_change_below_a_floor_is_not_applied(tmp_path: Path) -> None:
    table = ModeTable(tmp_path, "current")
    floor = PackedSequence.pack(Sequence(1, 7, 2, 0, 0))
    result = table.apply([change(1, "c", None, (1, "a")), change(3, "c", None, (2, "b"))], floor)
    assert (result.changes, result.applied) == (2, 1)
    assert [row["id"] for row in table.rows()] == [2]


def test_every_mode_has_a_model_and_is_a_part_of_a_pipelines_life() -> None:
    assert MODES.keys() - {mode.name for mode in mode_models.MODES} == set()
    for mode in mode_models.MODES:
        own = MODES[mode.name]
        assert not (own.refuses_key if mode.has_key else own.needs_key)
    compared = {mode.name for mode in MODES.values() if mode.current_rows is not None}
    assert compared - set(story.MODES.values()) == set()
    assert compared - set(shared_deaths.MODES.values()) == set()


def test_every_mode_is_compared_with_the_log_of_a_server() -> None:
    # The mode `current` has tests of its own.
    assert MODES.keys() - set(test_modes_of_a_server.MODES.values()) == {"current"}
