"""What a file says of many tables, and of columns: names, forms, digits and tolerances."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests import forked_command
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MysqlServer

pytestmark = pytest.mark.server

ROWS = 100


@pytest.fixture
def table(mysql_server: MysqlServer, database: str, tmp_path: Path) -> ForeignTable:
    own = ForeignTable(mysql_server.endpoint, database, tmp_path / "orders")
    own.execute(foreign_tables.DEFINITION)
    own.fill(1, ROWS)
    return own


def test_a_file_names_many_tables_and_chooses_columns(table: ForeignTable, tmp_path: Path) -> None:
    table.execute(
        "CREATE TABLE other (id INT PRIMARY KEY, name VARCHAR(9))",
        "INSERT INTO other VALUES (1, 'a')",
    )
    rows = [{**row, "weight": round(row["weight"], 3)} for row in table.rows()]
    made = [row["made"].replace(microsecond=row["made"].microsecond // 1000 * 1000) for row in rows]
    data = foreign_tables.typed([{**row, "made": own} for row, own in zip(rows, made, strict=True)])
    data = data.rename_columns({"price": "Preis"}).append_column("price", pa.array([1] * ROWS))
    data = data.set_column(data.column_names.index("note"), "note", pa.array(["-"] * ROWS))
    foreign_tables.write(tmp_path / "lake" / "orders", data)
    foreign_tables.write(tmp_path / "lake" / "other", pa.table({"id": [1], "name": ["a"]}))
    path = tmp_path / "audit.toml"
    path.write_text(f"""
        [[tables]]
        table = "{table.database}.orders"
        target = "delta:{tmp_path}/lake/orders"
        [tables.columns]
        price = {{ name = "Preis", form = "number" }}
        weight = {{ digits = 3 }}
        made = {{ digits = 3 }}
        note = {{ skip = true }}

        [[tables]]
        table = "{table.database}.*"
        target = "delta:{tmp_path}/lake/{{table}}"
    """)
    done = forked_command.run(
        "verify", table.url, "--tables", str(path), "--json", "--lag", "1", seconds=100
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    assert [(each["table"].rpartition(".")[2], each["rows"]) for each in report["tables"]] == [
        ("orders", ROWS),
        ("other", 1),
    ]
    assert report["tables"][0]["columns_only_in_source"] == ["note"]
    table.execute("UPDATE orders SET weight = weight + 0.001 WHERE id = 5")
    done = forked_command.run(
        "verify", table.url, "--tables", str(path), "--json", "--lag", "1", seconds=100
    )
    (own, _) = json.loads(done.stdout)["tables"]
    assert [each["key"] for each in own["differences"]] == [{"id": 5}]


@pytest.mark.parametrize("maker", [foreign_tables.typed, foreign_tables.debezium])
def test_a_value_may_be_away_by_the_tolerance_that_was_asked_for(
    table: ForeignTable, maker: Any, tmp_path: Path
) -> None:
    rows, second = table.rows(), timedelta(seconds=1)
    for row in rows:
        row["price"] += Decimal("0.01")
        row["weight"] -= 0.004
        row["made"] += second
        row["born"] -= timedelta(days=1)
    rows[4]["price"] += Decimal("0.01")
    rows[5]["weight"] = None
    rows[6]["made"] += timedelta(microseconds=1)
    rows[7]["born"] -= timedelta(days=1)
    rows[8]["note"] = "other"
    foreign_tables.write(table.path, maker(rows))
    path = tmp_path / "audit.toml"
    path.write_text(f"""
        [[tables]]
        table = "{table.database}.orders"
        target = "delta:{table.path}"
        [tables.columns]
        price = {{ tolerance = 0.01 }}
        weight = {{ tolerance = 0.005 }}
        made = {{ seconds = 1 }}
        born = {{ seconds = 86400 }}
    """)
    words = ("verify", table.url, "--tables", str(path), "--lag", "1")
    (report,) = json.loads(forked_command.run(*words, "--json", seconds=100).stdout)["tables"]
    found = {each["key"]["id"]: list(each["source"]) for each in report["differences"]}
    assert found == {5: ["price"], 6: ["weight"], 7: ["made"], 8: ["born"], 9: ["note"]}, report
    sizes = {each["source"]: each["tolerance"] for each in report["columns"]}
    assert (sizes["price"], sizes["made"], sizes["note"]) == (0.01, 1, None)
    # A state that the row had before is stale within the tolerance.
    table.execute("UPDATE orders SET weight = weight + 1 WHERE id = 20", "DO SLEEP(1)")
    done = forked_command.run(*words, seconds=100)
    assert 'stale {"id": 20}' in done.stdout
    assert "column price: equal within 0.01, as asked" in done.stdout
    assert "column made: equal within 1 seconds, as asked" in done.stdout
