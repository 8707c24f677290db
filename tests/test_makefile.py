"""What make does with an environment that is not its own."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_make_does_not_touch_an_environment_that_is_linked(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    shutil.copy(pytestconfig.rootpath / "Makefile", tmp_path)
    (tmp_path / "environment").mkdir()
    (tmp_path / ".venv").symlink_to("environment")
    # With --dry-run, no command runs, even if make accepts the link.
    make = ["make", "--dry-run", "errors-page"]
    ended = subprocess.run(make, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ended.returncode != 0
    assert ".venv is a link to an environment that make would replace" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
