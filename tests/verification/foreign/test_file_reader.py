"""Files of a table are read without the rows that are dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from verification.foreign.file_target import FileReader, Part

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("dead", [[True], [False, True], [False] * 7 + [True] + [False] * 5])
def test_rows_after_the_last_dead_one_are_live(tmp_path: Path, dead: list[bool]) -> None:
    path = tmp_path / "rows.parquet"
    data = pa.table({"id": pa.array(range(10), pa.int64())})
    pq.write_table(data, path, row_group_size=4)
    reader = FileReader(pa.OSFile, data.schema)
    slices = reader.slices(Part(str(path), {}, {}), ["id"], np.array(dead))
    found = [number for _, _, some in slices for number in some["id"].to_pylist()]
    assert found == [number for number in range(10) if number != dead.index(True)]
