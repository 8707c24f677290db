"""Five minutes of `make ddl-torture`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.chaos.ddl.run import run
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

MINUTES = 2.5

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1_200)]


@full_only
@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_mirrors_of_all_modes_are_equal_whatever_ddl_is_played(
    flavour: str, tmp_path: Path
) -> None:
    folder = tmp_path / "source"
    server = MysqlServer(folder, version="9") if flavour == "mysql" else MariadbServer(folder)
    outcome = run(server, tmp_path, seed=random.randrange(2**32), minutes=MINUTES, tell=print)

    assert not outcome.failure, f"seed {outcome.seed}: {outcome.failure}"
    assert outcome.comparisons
