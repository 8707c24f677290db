"""The small form of `shared_deaths`: two real pipelines of two servers, and one mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.mirror.shared_deaths import options_of, run
from tests.length import length

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kafka

KILLS = length(short=1, full=5)


@pytest.mark.parametrize("formats", ["delta", "iceberg"])
def test_each_shard_has_the_rows_of_its_source(tmp_path: Path, formats: str) -> None:
    options = ["--iceberg"] if formats == "iceberg" else []
    assert run(tmp_path, options_of(["--kills", str(KILLS), *options])) == []
