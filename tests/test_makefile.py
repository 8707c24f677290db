"""What make does with an environment that is not its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(pytestconfig: pytest.Config, tmp_path: Path) -> Path:
    """A folder with the Makefile and a link to an environment."""
    shutil.copy(pytestconfig.rootpath / "Makefile", tmp_path)
    (tmp_path / "connector").mkdir()
    (tmp_path / "environment").mkdir()
    (tmp_path / ".venv").symlink_to("environment")
    return tmp_path


def make(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    """Say what make would do: with --dry-run, no command runs, even if make accepts the link."""
    # The flags of a make that runs the tests are not for this one.
    own = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", target]
    return subprocess.run(command, cwd=folder, env=own, check=False, capture_output=True, text=True)


def test_make_does_not_touch_an_environment_that_is_linked(folder: Path) -> None:
    ended = make(folder, "errors-page")
    assert ended.returncode != 0
    assert ".venv is a link to an environment that make would replace" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("target", ["clean", "lock"])
def test_what_installs_nothing_does_not_mind_a_link(folder: Path, target: str) -> None:
    ended = make(folder, target)
    assert (ended.returncode, ended.stderr) == (0, "")
