"""The files of configs/mysql say what the servers of the local stack run with."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_stack import MARIADB_SOURCE_SETTINGS, MYSQL_SOURCE_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping


FOLDER = Path(__file__).parents[2] / "configs" / "mysql"


@pytest.mark.parametrize(
    ("file", "section", "settings"),
    [
        ("source.cnf", "mysqld", MYSQL_SOURCE_SETTINGS),
        ("mariadb.cnf", "mariadbd", MARIADB_SOURCE_SETTINGS),
    ],
)
def test_an_option_file_has_the_settings_that_the_tests_run_with(
    file: str, section: str, settings: Mapping[str, str]
) -> None:
    options = ConfigParser()
    options.read(FOLDER / file)
    assert dict(options[section]) == dict(settings)
