"""`config` prints reference files, whole or with what a first run needs."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from connector.cli.config import Reference
from connector.foundation.settings.sections import Settings
from stream_jobs.settings import Settings as JobSettings

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.settings.file_settings import FileSettings


@pytest.mark.parametrize(
    ("reference", "settings", "lines_max"),
    [(Reference.CONNECTOR, Settings, 40), (Reference.STREAM_JOB, JobSettings, 30)],
)
def test_the_minimal_file_is_short_and_can_be_used(
    reference: Reference, settings: type[FileSettings], lines_max: int, tmp_path: Path
) -> None:
    text = reference.minimal()
    assert len(text.splitlines()) <= lines_max
    # Each line but the first one, which is about the others, is one of the whole file.
    assert set(text.splitlines()[1:]) - {""} <= set(reference.text().splitlines())
    file = tmp_path / "minimal.toml"
    file.write_text(text, encoding="utf-8")
    settings.load(file)
    # Nothing is there that may be left out, except what nobody leaves as it is.
    whole, found = tomllib.loads(reference.text()), tomllib.loads(text)
    assert found.keys() < whole.keys()


def test_each_key_of_the_minimal_file_is_explained() -> None:
    for reference in (Reference.CONNECTOR, Reference.STREAM_JOB):
        lines = reference.minimal().splitlines()
        keys = [number for number, line in enumerate(lines) if " = " in line and line[0] != "#"]
        assert len(keys) >= 4
        assert all(lines[number - 1].startswith("# ") for number in keys)


def test_the_other_files_are_needed_whole() -> None:
    assert Reference.GRANTS.minimal() == Reference.GRANTS.text()
