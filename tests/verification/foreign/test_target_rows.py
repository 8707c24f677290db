"""Columns of a target that are others than when the forms of their values were learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from stream_jobs.errors import MirrorError
from tests.foundation.errors.texts import shown
from tests.stream_jobs.topics import column
from tests.verification.foreign.test_guess import schema
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.forms import forms_of
from verification.foreign.target_rows import TargetRows

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (column("id", "int", key=1), column("n", "int"))
FIRST: dict[str, Any] = {"id": pa.array([1, 2], pa.int32()), "n": pa.array([10, 20], pa.int32())}


@pytest.mark.parametrize(
    "changed",
    [{"id": FIRST["id"]}, FIRST | {"n": pa.array(["10", "abc"])}],
    ids=["gone", "of another type"],
)
def test_a_column_that_is_gone_or_has_another_type_ends_the_comparison(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    write_deltalake(tmp_path, pa.table(FIRST))
    target = DeltaTarget(f"delta:{tmp_path}", str(tmp_path))
    target.refresh()
    pairs = [ColumnPair(own, own["name"], forms_of(own, pa.int32())[0]) for own in COLUMNS]
    rows = TargetRows(target, ColumnMapping(schema(*COLUMNS), pairs, ColumnNames()))
    assert rows.refresh() == "version 0"
    write_deltalake(tmp_path, pa.table(changed), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(MirrorError) as raised:
        rows.refresh()
    assert str(raised.value) == shown(foreign_errors.COLUMN_GONE, target=target.name, column="n")
