"""The SQL files of the recorder, and the notation in their comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.golden.golden import recordings
from tests.golden.script import RESTART, ServerVersion, Statement, Theme, themes

if TYPE_CHECKING:
    from pathlib import Path

MYSQL_8 = ServerVersion("mysql", (8, 0, 31))
MARIADB_11 = ServerVersion("mariadb", (11, 8, 6))


@pytest.mark.parametrize(
    ("conditions", "server", "met"),
    [
        ("mysql", MYSQL_8, True),
        ("mysql", MARIADB_11, False),
        ("mysql>=8.0", MYSQL_8, True),
        ("mysql>=8.0.31", MYSQL_8, True),
        ("mysql>=8.0.32", MYSQL_8, False),
        ("mysql<8.0.32", MYSQL_8, True),
        ("mysql<8.0.31", MYSQL_8, False),
        ("mysql>=9 mariadb>=11.7", MARIADB_11, True),
        ("mysql>=9 mariadb>=11.7", MYSQL_8, False),
    ],
)
def test_a_condition_is_about_product_and_version(
    conditions: str, server: ServerVersion, met: bool
) -> None:
    assert server.meets(conditions) is met


def test_a_theme_is_settings_variants_and_statements(tmp_path: Path) -> None:
    path = tmp_path / "theme.sql"
    path.write_text(
        "-- What it is about: a comment.\n-- servers: mysql>=8.0\n-- settings: a=1 b=x=y\n"
        "-- variant one: c=2\n-- tables: none\n-- dumps: 0 2\n\nSELECT 1;\n"
        "-- only: mysql>=9\n-- fails\nSELECT\n-- in a statement;\n  ';';\n-- restart\nSELECT 3;\n"
    )
    theme = Theme.read(path)
    assert theme == Theme(
        name="theme",
        servers="mysql>=8.0",
        replayed=False,
        dumps=[0, 2],
        settings={"a": "1", "b": "x=y"},
        variants={"one": {"c": "2"}},
        statements=[
            Statement("SELECT 1"),
            Statement("SELECT\n-- in a statement", "mysql>=9", fails=True),
            Statement("  ';'"),
            Statement(RESTART),
            Statement("SELECT 3"),
        ],
    )
    assert [s.sql for s in theme.statements_for(MYSQL_8)] == [
        "SELECT 1",
        "  ';'",
        RESTART,
        "SELECT 3",
    ]


def test_every_theme_has_been_recorded_and_every_recording_has_its_theme() -> None:
    recorded = {recording.facts_path.name.split(".")[0] for recording in recordings()}
    assert recorded == {theme.name for theme in themes()}
