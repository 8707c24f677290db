"""What a log has of changes that did not happen, or that began long before, makes no verdict."""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.server.addresses import source_settings
from connector.stream.source.select_session import SelectSession
from local_stack import connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable, comparison
from tests.length import full_only
from verification.digests import RowIndex
from verification.foreign import foreign_check
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.run import OneTable, verify_tables
from verification.foreign.table_choice import TableChoice
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import MariadbServer, MysqlServer

pytestmark = pytest.mark.server

ROWS = 20


@contextmanager
def made(server: MysqlServer | MariadbServer, path: Path) -> Iterator[ForeignTable]:
    """Yield a table in a database of its own, and its equal target."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with connect(server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        table = ForeignTable(server.endpoint, name, path / "orders")
        table.execute(foreign_tables.DEFINITION)
        table.fill(1, ROWS)
        foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
        yield table
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture(params=["mysql_server", "mariadb_server"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ForeignTable]:
    with made(request.getfixturevalue(request.param), tmp_path) as table:
        yield table


@pytest.fixture
def mariadb_table(mariadb_server: MariadbServer, tmp_path: Path) -> Iterator[ForeignTable]:
    with made(mariadb_server, tmp_path) as table:
        yield table


def replace(table: ForeignTable, **notes: str) -> None:
    """Let rows of the target have other notes, by `row_ID`."""
    rows = table.rows()
    for name, note in notes.items():
        rows[int(name.removeprefix("row_")) - 1]["note"] = note
    foreign_tables.write(table.path, foreign_tables.typed(rows))


def differing(table: ForeignTable) -> dict[Any, str]:
    """Return the kinds of differences by keys."""
    with comparison(table) as check:
        check.run()
        assert not check.result.unsettled
        return {each.key["id"]: each.kind for each in check.result.differences}


def test_rows_that_were_rolled_back_are_none_of_the_source(mariadb_table: ForeignTable) -> None:
    table = mariadb_table
    table.execute(
        "BEGIN",
        "UPDATE orders SET note = 'never' WHERE id = 3",
        "CREATE TEMPORARY TABLE x (a INT)",
        "ROLLBACK",
        "BEGIN",
        "UPDATE orders SET note = 'before' WHERE id = 4",
        "SAVEPOINT s",
        "UPDATE orders SET note = 'never' WHERE id = 5",
        "CREATE TEMPORARY TABLE y (a INT)",
        "ROLLBACK TO s",
        "COMMIT",
    )
    replace(table, row_3="never", row_4="before", row_5="never")
    assert sorted(differing(table)) == [3, 5]


def test_a_target_that_shows_a_prepared_transaction_differs(table: ForeignTable) -> None:
    xid = f"'{table.database}'"
    replace(table, row_3="newer")
    table.execute(
        f"XA START {xid}",
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        f"XA END {xid}",
        f"XA PREPARE {xid}",
    )
    try:
        assert differing(table) == {3: "different"}
    finally:
        table.execute(f"XA ROLLBACK {xid}")
    assert list(differing(table)) == [3]


def test_a_transaction_of_one_phase_is_committed(table: ForeignTable) -> None:
    xid = f"'{table.database}'"
    table.execute(
        f"XA START {xid}",
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        f"XA END {xid}",
        f"XA COMMIT {xid} ONE PHASE",
    )
    assert differing(table) == {3: "stale"}


def test_a_table_that_was_altered_within_the_lag_is_compared(table: ForeignTable) -> None:
    """Rows from before that may be what the target has, so it takes as long as the lag."""
    table.execute(
        "UPDATE orders SET note = 'older' WHERE id = 3",
        "ALTER TABLE orders ADD COLUMN more VARCHAR(9) NOT NULL DEFAULT 'x' FIRST",
    )
    wrong = [row | {"note": "wrong"} if row["id"] == 7 else row for row in table.rows()]
    foreign_tables.write(table.path, foreign_tables.typed(wrong))
    table.execute("UPDATE orders SET note = 'newer' WHERE id = 3")
    with comparison(table, lag_seconds=6.0) as check:
        check.run()
    found = {row.key["id"]: row.kind for row in check.result.differences}
    assert found == {3: "stale", 7: "different"}


@full_only
def test_a_statement_that_began_long_before_its_commit_may_lag(
    mariadb_table: ForeignTable,
) -> None:
    table = mariadb_table
    # The log is read from a transaction of the last three seconds on, and has another time of this
    # statement.
    table.execute(
        "DO SLEEP(4.2)",
        "SET timestamp = UNIX_TIMESTAMP() - 100",
        "UPDATE orders SET note = 'newer' WHERE id = 3",
    )
    late = threading.Timer(0.3, lambda: replace(table))
    with comparison(table) as check:
        late.start()
        check.run()
        late.join()
    assert check.result.differences == []


def test_a_session_that_broke_is_opened_again(mysql_server: MysqlServer, tmp_path: Path) -> None:
    found = []

    def compared(one: OneTable) -> None:
        server = one.source.server
        found.append(server.time_us())
        server.session.close()
        assert server.time_us() > found[0]
        with server.sessions.lent() as session:
            session.close()
        assert [page.num_rows for page in one.source.chunks()] == [ROWS]

    with made(mysql_server, tmp_path) as table:
        source = source_settings(table.url)
        choices = [TableChoice(table.database, "orders", f"delta:/{name}") for name in "ab"]
        results = verify_tables(source, choices, ForeignLimits(), RunProgress(), compared)
        with SelectSession(source) as session:
            (row,) = session.query("SELECT @@wait_timeout AS seconds")
        assert not any(each.error for each in results)
    assert len(found) == 2
    assert row["seconds"] == "604800"


def test_a_page_of_wide_rows_has_few_of_them(mysql_server: MysqlServer, tmp_path: Path) -> None:
    most = 1 << 16
    with made(mysql_server, tmp_path) as table:
        table.execute(
            "ALTER TABLE orders MODIFY note MEDIUMTEXT",
            "UPDATE orders SET note = REPEAT('x', 30000) WHERE id > 10",
        )
        settings = SnapshotSettings(chunk_bytes_max=most)
        with foreign_tables.source_rows(table.url, (table.database, "orders"), settings) as rows:
            pages = [page["id"].to_pylist() for page in rows.chunks()]
    assert [number for page in pages for number in page] == list(range(1, ROWS + 1))
    assert max(len(page) for page in pages if page[0] > 10) <= 3


def test_the_index_has_room_for_rows_that_the_target_did_not_count(
    mysql_server: MysqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []

    class Index(RowIndex):
        def __init__(self, folder: Path, rows: int, *more: Any) -> None:
            counts.append(rows)
            super().__init__(folder, rows, *more)

    class Uncounted(DeltaTarget):
        def refresh(self) -> str:
            name = super().refresh()
            self.rows = 0
            return name

    monkeypatch.setattr(foreign_check, "RowIndex", Index)
    with made(mysql_server, tmp_path) as table:
        table.execute("ANALYZE TABLE orders")
        target = Uncounted("orders", str(table.path))
        with comparison(table, target=target) as check:
            check.run()
        assert check.result.verdict == "equal"
    assert counts == [ROWS]
