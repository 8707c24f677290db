"""A short run of `make chaos`: few faults, of the kinds that take little time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.chaos.replication import FLAVOURS
from tests.chaos.run import run
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = 9
KINDS = (
    "connector: SIGKILL|second one|cut in a packet|cut (RST|sessions|purged|failover|collision"
    "|source: SIGKILL"
)


OF_FOLDER = f"{KINDS}|server of the log|log: disk full"


@full_only
@pytest.mark.server
@pytest.mark.kafka
@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_every_committed_change_is_there_once_and_in_order_whatever_dies(
    flavour: str, tmp_path: Path
) -> None:
    assert_kept(flavour, tmp_path, KINDS, folder=False)


@full_only
@pytest.mark.server
@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_the_same_holds_for_a_log_in_a_folder(flavour: str, tmp_path: Path) -> None:
    assert_kept(flavour, tmp_path, OF_FOLDER, folder=True)


def assert_kept(flavour: str, directory: Path, kinds: str, *, folder: bool) -> None:
    outcome = run(
        FLAVOURS[flavour](),
        directory,
        seed=random.randrange(2**32),
        faults=FAULTS,
        folder=folder,
        only=kinds,
        tell=print,
    )

    assert not outcome.failure, outcome.failure
    assert outcome.faults == FAULTS
    (verdict,) = outcome.verdicts
    assert verdict.transactions > 0
    assert verdict.records > verdict.transactions
