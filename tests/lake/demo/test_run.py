"""What the demo refuses before it starts anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.lake.demo import DemoOptions, run_demo

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_directory_with_other_things_in_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").touch()
    assert run_demo(DemoOptions(directory=tmp_path)) == 1
    assert capsys.readouterr().out == (
        f"error: [P302] {tmp_path} is not empty; give the demo a directory of its own\n"
    )


def test_a_source_that_does_not_answer_is_told_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "demo"
    assert run_demo(DemoOptions(address="127.0.0.1:1", directory=directory)) == 1
    out = capsys.readouterr().out
    assert (
        "error: [P152] 127.0.0.1:1: cannot log in as 'root': Can't connect to MySQL server" in out
    )
    assert list(directory.iterdir()) == []
