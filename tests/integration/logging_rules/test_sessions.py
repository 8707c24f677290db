"""Random sessions on real servers: the log is the predicted one, and so are errors and warnings.

`make logging-rules SESSIONS=5000` plays more of them; SEED=n plays others.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer, MysqlServer
from tests.integration.logging_rules.player import Player
from tests.integration.logging_rules.random_sessions import Generator
from tests.length import length

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server

SEED = int(os.environ.get("SEED", "15"))
SESSIONS = int(os.environ.get("SESSIONS") or length(short=40, full=600))
STATEMENTS = 9

MYSQL_VERSIONS = ["5.7", "8.0", "9"]
MARIADB_VERSIONS = ["10.11", "11.8"]

# Consistency of GTIDs can be switched on for single sessions only without GTIDs.
WITHOUT_GTIDS = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}


def play(server: MysqlServer | MariadbServer, folder: Path) -> None:
    player = Player(server)
    generator = Generator(player.version, folder)
    sessions = (
        generator.session(Random(f"{SEED}-{number}"), STATEMENTS) for number in range(SESSIONS)
    )
    different = player.differences(sessions)
    assert not different, "\n".join(
        [f"{player.version}: {len(different)} of {SESSIONS} sessions", *map(str, different[:3])]
    )


@pytest.mark.parametrize("version", MYSQL_VERSIONS)
def test_the_log_of_a_random_session_is_the_predicted_one_on_mysql(
    version: str, tmp_path: Path
) -> None:
    settings = {**WITHOUT_GTIDS, "secure_file_priv": str(tmp_path)}
    with MysqlServer(tmp_path, version=version, settings=settings) as server:
        play(server, tmp_path)


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_the_log_of_a_random_session_is_the_predicted_one_on_mariadb(
    version: str, tmp_path: Path
) -> None:
    settings = {"gtid_strict_mode": "OFF", "secure_file_priv": str(tmp_path)}
    with MariadbServer(tmp_path, version=version, settings=settings) as server:
        play(server, tmp_path)
