"""Chromium without a window: what it makes of a page, and pictures of it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(
    PROGRAM is None, reason="there is no chromium: `apt-get install chromium` brings it"
)
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
)  # fmt: skip


@dataclass(frozen=True)
class Screen:
    """What somebody looks at: sizes in pixels."""

    width: int
    height: int
    dark: bool

    def options(self) -> tuple[str, ...]:
        """Return the options of a browser with this screen."""
        return (
            f"--window-size={self.width},{self.height}",
            "--hide-scrollbars",
            f"--blink-settings=preferredColorScheme={0 if self.dark else 1}",
        )


# Wide and narrow, light and dark.
SCREENS = {
    "wide-light": Screen(1280, 1500, dark=False),
    "wide-dark": Screen(1280, 1500, dark=True),
    "narrow-light": Screen(390, 3600, dark=False),
    "narrow-dark": Screen(390, 3600, dark=True),
}


def command(folder: Path, *options: str) -> list[str]:
    """Return what runs the browser, which keeps its files in `folder`, with more `options`."""
    assert PROGRAM is not None
    return [PROGRAM, *_OPTIONS, f"--user-data-dir={folder}", *options]


def browse(address: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the browser at an address until it has done what `options` ask."""
    return subprocess.run(
        [*command(folder, *options), address],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
