from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.housekeeping import CleanupResult, Retention, clean_up
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.run.assembly import delta_properties
from stream_jobs.settings import MirrorSettings
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000
PROPERTIES = delta_properties(MirrorSettings(path="mirror", checkpoint="checkpoint"))


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    properties = {"delta.checkpointInterval": "5"}
    return Sample(LocalStorage(str(tmp_path)), "t", PROPERTIES | properties)


def make_old(tmp_path: Path) -> None:
    """Let every file be older than each retention."""
    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))


def test_a_mirror_keeps_six_hours() -> None:
    assert Retention.of("t", PROPERTIES) == (6 * HOUR, 6 * HOUR, 100)


def test_a_table_is_cleaned_up_after_ten_checkpoints(sample: Sample, tmp_path: Path) -> None:
    sample.append(range(100))
    sample.storage.write("t/left-by-a-crash", b"123")
    cleaned = []
    for number in range(60):
        make_old(tmp_path)
        sample.append([number])
        cleaned.append(clean_up(sample.table))
    assert [place for place, found in enumerate(cleaned) if any(found)] == [48]
    # The last checkpoint is new: the one before it is the oldest that has to stay.
    assert cleaned[48] == CleanupResult(45 + 8, 1, 3)
    assert len(list(tmp_path.glob("t/_delta_log/*.checkpoint.parquet"))) == 4
    assert len(sample.live()) == 160
