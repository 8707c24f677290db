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


@full_only
@pytest.mark.server
@pytest.mark.kafka
@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_every_committed_change_is_there_once_and_in_order_whatever_dies(
    flavour: str, tmp_path: Path
) -> None:
    outcome = run(
        FLAVOURS[flavour](),
        tmp_path,
        seed=random.randrange(2**32),
        faults=FAULTS,
        only=KINDS,
        tell=print,
    )

    assert not outcome.failure, outcome.failure
    assert outcome.faults == FAULTS
    (verdict,) = outcome.verdicts
    assert verdict.transactions > 0
    assert verdict.records > verdict.transactions
