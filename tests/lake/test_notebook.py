"""Which tables a lake gives to a notebook, and what it says of the other ones."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connector.errors import ConfigError, DefiniteError
from connector.lake import Lake, lake_errors
from connector.lake.lake_folder import LakeFolder
from connector.lake.lake_tables import LakeTable, table_of
from stream_jobs.cuts import Cut, CutTable
from tests.foundation.errors.texts import shown
from tests.lake.notebook_cells import cells

if TYPE_CHECKING:
    from pathlib import Path

TABLES = {"shop.orders": CutTable("shop/orders", 0, "id")}
CUT = Cut("0" * 38, "mysql", None, "binlog.000001:4", None, 0, TABLES, {"shop.events": "[M314] no"})


def test_a_table_of_the_newest_cut_is_read(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2]})
    write_deltalake(tmp_path / "shop" / "orders", rows)
    table = table_of(LakeFolder(tmp_path), CUT, "shop.orders")
    assert (table.name, table.delta.version()) == ("shop.orders", 0)
    assert table.to_pyarrow_table().to_pylist() == rows.to_pylist()


def test_a_table_that_the_job_has_set_aside_is_named_with_its_reason(tmp_path: Path) -> None:
    folder = LakeFolder(tmp_path)
    with pytest.raises(DefiniteError) as raised:
        table_of(folder, CUT, "shop.events")
    facts = {"folder": tmp_path, "table": "shop.events", "config": folder.job_config}
    assert str(raised.value) == shown(lake_errors.LEFT_OUT, **facts, why="[M314] no")


@pytest.mark.parametrize("cut", [None, CUT])
def test_a_table_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, cut: Cut | None
) -> None:
    with pytest.raises(ConfigError) as raised:
        table_of(LakeFolder(tmp_path), cut, "shop.order")
    names = "none yet" if cut is None else ["shop.orders"]
    facts = {"folder": tmp_path, "table": "shop.order", "names": names}
    assert str(raised.value) == shown(lake_errors.NO_TABLE, **facts)


def test_the_notebook_of_the_documents_calls_what_a_lake_has() -> None:
    code = "\n".join(cells().values())
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    of_rows = {"slice", "to_pylist"}
    assert {"wait", "tables", "table", "to_pyarrow_table", "close"} | of_rows == called
    assert [
        name for name in called - of_rows if not (hasattr(Lake, name) or hasattr(LakeTable, name))
    ] == []
