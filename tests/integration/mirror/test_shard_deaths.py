"""The small form of `shard_deaths`: everything is killed while shards share a mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.mirror.shard_deaths import options_of, run
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.kafka, full_only]

SMALL = "--shards 4 --tables 3 --changes 200 --kills 7 --quiet-seconds 5 --roll-seconds 60"


@pytest.mark.parametrize("more", [[], ["--load"]])
def test_the_mirror_has_the_rows_of_all_shards(tmp_path: Path, more: list[str]) -> None:
    assert run(tmp_path, options_of([*SMALL.split(), *more])) == []
