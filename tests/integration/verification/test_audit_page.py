"""The session of docs/tasks/audit.md is what the command prints for such a table."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests import forked_command
from tests.integration.verification import foreign_tables
from tests.integration.verification.audit_session import BEGINNING, CHANGES
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    from local_stack import MysqlServer

pytestmark = pytest.mark.server

PAGE = Path(__file__).parents[3] / "docs" / "tasks" / "audit.md"


def test_the_session_of_the_page_is_real(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    table = ForeignTable(mysql_server.endpoint, database, tmp_path / "orders")
    _make(table)
    place = f"{database}.orders=delta:{table.path}"
    done = forked_command.run("verify", table.url, "--table", place, "--lag", "1", seconds=100)
    assert done.returncode == 4, done.stderr
    found = done.stdout.replace(f"delta:{table.path}", "delta:/lake/orders")
    found = found.replace(database, "shop")
    session = PAGE.read_text().split("```console\n")[1].split("```")[0]
    expected = session.split("\n", 1)[1]
    assert sorted(_plain(found)) == sorted(_plain(expected)), found


def _plain(text: str) -> list[str]:
    """Return the lines without times, transactions and the version, which differ each time."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.+]+", "TIME", text)
    text = re.sub(r"version \d+", "VERSION", text)
    return re.sub(r"\([0-9a-f-]{36}:\d+\)", "(GTID)", text).rstrip().splitlines()


def _make(table: ForeignTable) -> None:
    """Make a table, and what a pipeline of Debezium and Spark with five usual faults makes of it.

    `audit_session` has such a pipeline.
    """
    table.execute(*BEGINNING)
    rows = table.rows()
    table.execute(*CHANGES, "DO SLEEP(3.5)")
    rows[4711 - 1]["price"] = Decimal("20.00")
    rows[815 - 1]["note"] = "? for Zo?"
    rows.append(dict(rows[77 - 1]))
    milliseconds = [int(row["placed"].timestamp() * 1000) for row in foreign_tables.utc(rows)]
    data = pa.table(
        {
            "id": [row["id"] for row in rows],
            "price": [foreign_tables.unscaled(row["price"]) for row in rows],
            "note": [row["note"] for row in rows],
            "placed": milliseconds,
            "day": [foreign_tables.day_number(row["day"]) for row in rows],
        }
    )
    foreign_tables.write(table.path, data)
