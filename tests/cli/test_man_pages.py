"""The pages for `man` are current, whole, and pages that `man` can show."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.application import commands, parser
from tests.cli.man_pages import FOLDER, pages

ROOT = Path(__file__).parents[2]
NAMES = sorted(pages())


def shown(name: str) -> str:
    """Return a page as it is on a wide terminal, without bold and italics."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff: `apt-get install groff` brings it")
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", "-P-c", "-P-bou", "-rLL=400n", str(FOLDER / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_are_current(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == pages()[name], "`make man-pages` writes them"


def test_a_page_has_every_command_and_option() -> None:
    page = shown("binlog-connector.1")
    for names, _ in commands():
        assert re.search(rf"(?m)^ +{' '.join(names)}( |$)", page), names
        for option in parser(*names).options().keys() - {"--help", "-h"}:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", page), option


def test_examples_stand_as_they_are_typed() -> None:
    assert "    binlog-connector snapshot my.toml 'shop.*' crm.users\n" in shown(
        "binlog-connector.1"
    )
    mirror = shown("binlog-connector-mirror.1")
    assert "    binlog-connector-mirror stream_job.toml\n" in mirror
    assert "python -m" not in mirror


def test_a_wheel_has_them_where_man_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    files = project["tool"]["setuptools"]["data-files"]
    assert files == {"share/man/man1": [f"docs/man/{name}" for name in NAMES]}
