"""`up` says by its exit code whether the tables have everything."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.cli import up
from connector.lake.lake_folder import LakeFolder
from tests.application import invoke

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Terminated:
    """A lake whose process gets SIGTERM while it waits for anything."""

    def catch_up(self, _: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    def check(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("options", "code"), [([], 0), (["--once"], 130), (["--once", "--verify"], 130)]
)
def test_an_interrupted_once_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int
) -> None:
    @contextmanager
    def running(*_: object) -> Iterator[Terminated]:
        yield Terminated()

    monkeypatch.setattr(up, "lake_of", lambda *_: LakeFolder(tmp_path))
    monkeypatch.setattr(up, "running", running)
    done = invoke(["up", "--to", str(tmp_path), *options])
    assert (done.exit_code, done.stderr) == (code, "stopped; the same command resumes\n")
