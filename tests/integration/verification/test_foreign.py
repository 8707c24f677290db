"""Tables that other programs have made of a table: each fault is found, and lag is none."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.schema import assign_fresh_schema_ids

from local_stack import connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_faults import FAULTS, damaged
from tests.integration.verification.foreign_tables import ForeignTable
from tests.verification.foreign import iceberg_tables
from verification.foreign.delta_target import DeltaTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import MariadbServer, MysqlServer
    from tests.integration.verification.foreign_tables import Row

pytestmark = pytest.mark.server

ROWS = 500
# What both programs make of a row.
MAKERS = pytest.mark.parametrize("maker", [foreign_tables.typed, foreign_tables.debezium])
Maker = Any


@pytest.fixture
def table(mysql_server: MysqlServer, database: str, tmp_path: Path) -> ForeignTable:
    return made(ForeignTable(mysql_server.endpoint, database, tmp_path / "orders"))


def made(table: ForeignTable) -> ForeignTable:
    """Make the table at the source."""
    table.execute(foreign_tables.DEFINITION)
    table.fill(1, ROWS)
    return table


@MAKERS
def test_what_another_program_has_made_is_equal(table: ForeignTable, maker: Maker) -> None:
    foreign_tables.write(table.path, maker(table.rows()))
    report = table.report("--lag", "1", code=0)
    assert (report["verdict"], report["rows"]) == ("equal", ROWS), report
    assert report["columns_only_in_source"] == report["columns_only_in_target"] == []
    with connect(table.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.gtid_executed")
        ((found,),) = cursor.fetchall()
    assert report["equal_through"]["transactions"] == found.replace("\n", "")


def test_the_report_says_what_was_guessed(table: ForeignTable) -> None:
    foreign_tables.write(table.path, foreign_tables.debezium(table.rows()))
    report = table.report("--lag", "1", code=0)
    forms = {column["source"]: column["form"] for column in report["columns"]}
    targets = {column["source"]: column["target"] for column in report["columns"]}
    assert (targets["id"], targets["made_in"]) == ("ID", "madeIn")
    assert (report["deletion_mark"], report["ignored_columns"]) == (
        "__op",
        ["__op", "__source_ts_ms"],
    )
    assert forms["price"] == "base64 of unscaled bytes"
    assert forms["picture"] == "base64"
    assert forms["flags"] == "base64 of bytes, least first"
    assert forms["born"] == "days since 1970"
    assert forms["made"] == "microseconds since 1970"
    assert forms["took"] == "microseconds since midnight"


@MAKERS
def test_each_kind_of_fault_is_found_and_no_other(table: ForeignTable, maker: Maker) -> None:
    rows = [FAULTS[r["id"]][2](r) if r["id"] in FAULTS else r for r in table.rows()]
    rows[30 - 1]["note"], rows[31 - 1]["note"] = rows[31 - 1]["note"], rows[30 - 1]["note"]
    rows += [{**rows[0], "id": 9000}, dict(rows[40 - 1])]
    rows = [row for row in rows if row["id"] != 50]
    foreign_tables.write(table.path, maker(rows))
    report = table.report("--lag", "1", code=4)
    found = {each["key"]["id"]: (each["kind"], each["source"]) for each in report["differences"]}
    swapped = {number: ("different", ["note"]) for number in (30, 31)}
    expected = {number: fault[:2] for number, fault in FAULTS.items()} | swapped
    for number, (kind, columns) in expected.items():
        assert found.pop(number, (None, {})) == (kind, found_columns(report, number, columns))
    assert {number: kind for number, (kind, _) in found.items()} == {
        40: "doubled",
        50: "missing",
        9000: "surplus",
    }


def test_a_proof_makes_as_many_faults_as_it_is_asked_for(table: ForeignTable) -> None:
    rows = table.rows()
    made, expected = damaged(rows, 300, {row["id"]: {**row, "note": "old"} for row in rows})
    kinds = Counter(expected.values())
    assert (kinds.total(), set(kinds)) == (
        300,
        {"different", "missing", "surplus", "doubled", "stale"},
    )
    kept = {row["id"]: row for row in rows}
    changed = sum(row != kept.get(row["id"]) for row in made)
    assert changed == kinds["different"] + kinds["stale"] + kinds["surplus"]
    assert len(made) == len(rows) - kinds["missing"] + kinds["surplus"] + kinds["doubled"]


def found_columns(report: dict[str, Any], number: int, columns: list[str]) -> dict[str, Any]:
    """Return the values of the source, after a look at the names of the columns that differ."""
    (own,) = [each for each in report["differences"] if each["key"]["id"] == number]
    assert sorted(own["source"]) == sorted(columns), own
    source: dict[str, Any] = own["source"]
    return source


def test_rows_that_are_marked_as_deleted_are_absent(table: ForeignTable) -> None:
    rows = table.rows()
    table.execute("DELETE FROM orders WHERE id IN (7, 8)")
    foreign_tables.write(table.path, foreign_tables.debezium(rows, deleted=(7, 8, 9)))
    report = table.report("--lag", "1", code=4)
    assert [(each["kind"], each["key"]) for each in report["differences"]] == [
        ("missing", {"id": 9})
    ]


def test_a_value_that_no_column_of_the_source_can_have_differs(table: ForeignTable) -> None:
    data = foreign_tables.debezium(table.rows())
    places = data["big"].to_pylist()
    places[3], places[4] = "many", "-1"
    place = data.column_names.index("big")
    foreign_tables.write(table.path, data.set_column(place, "big", pa.array(places)))
    report = table.report("--lag", "1", code=4)
    assert [(each["key"]["id"], each["target"]) for each in report["differences"]] == [
        (4, [{"big": "many"}]),
        (5, [{"big": "-1"}]),
    ]


def test_a_row_without_a_key_of_the_source_differs_though_all_sums_are_equal(
    table: ForeignTable,
) -> None:
    table.execute(
        "DROP TABLE orders",
        "CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR(9))",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
    )
    for ids in (pa.array([1, None, 2], pa.int32()), pa.array(["1", "abc", "2"])):
        foreign_tables.write(table.path, pa.table({"id": ids, "note": ["a", "c", "b"]}))
        with foreign_tables.comparison(table) as check:
            check.run()
        result = check.result
        assert (result.verdict, result.summed_rows, result.target_rows) == ("different", 2, 3)
        (only,) = result.differences
        odd = {"id": ids[1].as_py(), "note": "c"}
        assert (only.kind, only.key, only.target) == ("surplus", {"id": odd["id"]}, [odd])


def test_a_folder_of_files_with_partitions_is_compared(table: ForeignTable) -> None:
    data = foreign_tables.typed(table.rows())
    pq.write_to_dataset(data, table.path, partition_cols=["kind"])
    (table.path / "_SUCCESS").write_bytes(b"")
    target = f"parquet:{table.path}"
    report = table.report("--lag", "1", target=target, code=0)
    assert (report["verdict"], report["rows"]) == ("equal", ROWS), report
    table.execute("UPDATE orders SET kind = 3 - kind WHERE id = 5")
    report = table.report("--lag", "1", target=target, code=4)
    assert [each["kind"] for each in report["differences"]] == ["stale"]


def test_an_iceberg_table_is_compared(table: ForeignTable) -> None:
    data = foreign_tables.typed(table.rows())
    schema = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(data.schema))
    orders = iceberg_tables.made(table.path, schema)
    orders.append(data)
    target = f"iceberg:{table.path}"
    report = table.report("--lag", "1", target=target, code=0)
    assert (report["verdict"], report["rows"]) == ("equal", ROWS), report
    snapshot = orders.current_snapshot()
    assert snapshot is not None
    assert report["target_state"] == f"snapshot {snapshot.snapshot_id}"
    table.execute("DELETE FROM orders WHERE id = 5", "UPDATE orders SET note = '' WHERE id = 6")
    writer = iceberg_tables.DeleteWriter(table.path)
    writer.values(pa.table({"id": pa.array([5, 6, 7], pa.int64())}), [1])
    orders = orders.refresh()
    orders.append(foreign_tables.typed([row for row in table.rows() if row["id"] == 6]))
    report = table.report("--lag", "1", target=target, code=4)
    assert [(each["kind"], each["key"]["id"]) for each in report["differences"]] == [("missing", 7)]


def test_a_row_lags_until_the_target_follows(
    table: ForeignTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
    refresh = DeltaTarget.refresh
    looks = 0

    def refresh_and_follow(target: DeltaTarget) -> str:
        nonlocal looks
        looks += 1
        if looks == _LOOKS:
            foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
        return refresh(target)

    with foreign_tables.comparison(table, lag_seconds=100) as check:
        table.execute(
            "UPDATE orders SET note = 'newer' WHERE id = 3", "DELETE FROM orders WHERE id = 4"
        )
        monkeypatch.setattr(DeltaTarget, "refresh", refresh_and_follow)
        check.run()
    assert check.result.verdict == "equal"
    assert sorted(str(row.key["id"]) for row in check.result.lagging) == ["3", "4"]
    assert 0 < check.result.oldest_lag_us < 100 * 10**6


# The rows lag in the first one after the rows were compared.
_LOOKS = 4


def test_the_log_says_since_when_a_row_is_stale(table: ForeignTable) -> None:
    foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
    table.execute(
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        "UPDATE orders SET note = 'newest' WHERE id = 3",
        "DELETE FROM orders WHERE id = 4",
        "INSERT INTO orders (id) VALUES (7000)",
    )
    report = table.report("--lag", "2", code=4)
    found = {each["key"]["id"]: each for each in report["differences"]}
    assert {number: each["kind"] for number, each in found.items()} == {
        3: "stale",
        4: "surplus",
        7000: "missing",
    }
    assert found[3]["source"] == {"note": "newest"}
    first = int(found[3]["since"]["transaction"].rpartition(":")[2])
    assert int(found[4]["since"]["transaction"].rpartition(":")[2]) == first + 2
    assert int(found[7000]["since"]["transaction"].rpartition(":")[2]) == first + 3


def test_an_older_log_says_since_when_a_row_is_stale(table: ForeignTable) -> None:
    foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
    table.execute(
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        "UPDATE orders SET note = 'newest' WHERE id = 3",
        "DELETE FROM orders WHERE id = 4",
        "INSERT INTO orders (id) VALUES (7000)",
        "UPDATE orders SET note = 'newer' WHERE id = 7000",
        "FLUSH BINARY LOGS",
        "UPDATE orders SET note = 'a' WHERE id = 3",
    )
    # The log of the last seconds does not have these changes.
    table.execute("DO SLEEP(3.5)")
    report = table.report("--lag", "0.5", code=4)
    found = {each["key"]["id"]: each for each in report["differences"]}
    assert {number: each["kind"] for number, each in found.items()} == {
        3: "stale",
        4: "surplus",
        7000: "missing",
    }
    numbers = {
        number: int(each["since"]["transaction"].rpartition(":")[2])
        for number, each in found.items()
        if each["since"]["is_lacking"]
    }
    assert numbers == {3: numbers[3], 4: numbers[3] + 2, 7000: numbers[3] + 3}


def test_rows_of_a_prepared_transaction_count_when_it_is_committed(table: ForeignTable) -> None:
    foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
    xid = f"'{table.database}'"
    table.execute(
        f"XA START {xid}",
        "UPDATE orders SET note = 'newer' WHERE id = 3",
        f"XA END {xid}",
        f"XA PREPARE {xid}",
    )
    # Older than the lag, but nobody sees its rows.
    table.execute("DO SLEEP(2)", "UPDATE orders SET note = 'other' WHERE id = 4")
    report = table.report("--lag", "1.5", code=4)
    assert [each["key"] for each in report["differences"]] == [{"id": 4}]
    table.execute(f"XA COMMIT {xid}")
    report = table.report("--lag", "1", code=4)
    assert sorted(each["key"]["id"] for each in report["differences"]) == [3, 4]


@contextmanager
def changing(
    table: ForeignTable, maker: Maker, keep: Callable[[list[Row]], list[Row]]
) -> Iterator[None]:
    """Change rows all the time, and replace the target by what the rows were a second before."""
    ended = threading.Event()

    def change() -> None:
        random_ = random.Random(5)
        with connect(table.endpoint, table.database) as connection, connection.cursor() as cursor:
            while not ended.wait(0.002):
                number = random_.randint(1, ROWS)
                sql = (
                    f"UPDATE orders SET price = price + 1, note = UUID() WHERE id = {number}",
                    f"DELETE FROM orders WHERE id = {number}",
                    f"INSERT IGNORE INTO orders (id, note) VALUES ({number}, UUID())",
                    f"REPLACE INTO orders (id, weight) VALUES ({number}, RAND())",
                )
                cursor.execute(random_.choice(sql))

    def copy() -> None:
        while not ended.is_set():
            rows = table.rows()
            ended.wait(0.7)
            foreign_tables.write(table.path, maker(keep(rows)))

    foreign_tables.write(table.path, maker(keep(table.rows())))
    threads = [threading.Thread(target=each) for each in (change, copy)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@MAKERS
def test_rows_that_change_all_the_time_make_no_false_alarm(
    table: ForeignTable, maker: Maker
) -> None:
    with changing(table, maker, lambda rows: rows):
        report = table.report("--lag", "20", code=0)
    assert report["verdict"] == "equal", report
    assert report["lagging_rows"] > 0
    # Some of these rows lack changes from before the comparison.
    assert report["equal_through"] is not None


def test_faults_are_found_while_all_rows_change(table: ForeignTable) -> None:
    table.fill(613, 614)
    frozen = [dict(row) for row in table.rows() if row["id"] in (15, 614)]
    # The load may come to this row only later.
    table.execute("UPDATE orders SET note = 'changed' WHERE id = 15")

    def keep(rows: list[Row]) -> list[Row]:
        kept = [row for row in rows if row["id"] not in (15, 613, 614)]
        return [*kept, *frozen, {**frozen[0], "id": 8000}]

    with changing(table, foreign_tables.typed, keep):
        table.execute("UPDATE orders SET note = 'newer' WHERE id = 614")
        report = table.report("--lag", "6", code=4)
    kinds = {each["key"]["id"]: each["kind"] for each in report["differences"]}
    # The source may just have deleted this row.
    assert kinds.pop(15) in ("stale", "surplus")
    assert kinds == {613: "missing", 614: "stale", 8000: "surplus"}, report["differences"]


def test_a_log_without_names_and_with_parts_of_rows_is_enough(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    table = ForeignTable(mysql_server.endpoint, database, tmp_path / "orders")
    names = ("binlog_row_metadata", "binlog_row_image")
    table.execute(*(f"SET GLOBAL {name} = MINIMAL" for name in names))
    try:
        made(table)
        foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
        table.execute("UPDATE orders SET note = 'new' WHERE id IN (3, 5)")
        foreign_tables.write(table.path, foreign_tables.typed(table.rows()))
        table.execute(
            "UPDATE orders SET note = 'newer' WHERE id = 3", "DELETE FROM orders WHERE id = 4"
        )
        # A row that changes, and is as it was before, is looked at again.
        table.execute("UPDATE orders SET note = 'newer' WHERE id = 5")
        table.execute("UPDATE orders SET note = 'new' WHERE id = 5")
        report = table.report("--lag", "2", code=4)
    finally:
        table.execute(*(f"SET GLOBAL {name} = FULL" for name in names))
    kinds = {each["key"]["id"]: each["kind"] for each in report["differences"]}
    assert kinds == {3: "different", 4: "surplus"}, report


def test_mariadb_is_compared(
    mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    table = made(ForeignTable(mariadb_server.endpoint, mariadb_database, tmp_path / "orders"))
    foreign_tables.write(table.path, foreign_tables.debezium(table.rows()))
    assert table.report("--lag", "1", code=0)["rows"] == ROWS
    table.execute("UPDATE orders SET price = 3 WHERE id = 5")
    with changing(table, foreign_tables.debezium, lambda rows: rows):
        assert table.report("--lag", "20", code=0)["verdict"] == "equal"
    rows = table.rows()
    table.execute("UPDATE orders SET note = 'newer' WHERE id = (SELECT MIN(id) FROM orders)")
    foreign_tables.write(table.path, foreign_tables.debezium(rows))
    report = table.report("--lag", "2", code=4)
    assert [each["kind"] for each in report["differences"]] == ["stale"]


def test_a_table_of_another_server_is_compared(
    table: ForeignTable, mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    copy = made(ForeignTable(mariadb_server.endpoint, mariadb_database, tmp_path))
    target = f"{copy.url}/{mariadb_database}.orders"
    report = table.report("--lag", "1", target=target, code=0)
    assert (report["rows"], report["target_rows"]) == (ROWS, ROWS)
    assert copy.endpoint.password not in report["target"]
    copy.execute(
        "UPDATE orders SET price = price + 1 WHERE id = 5",
        "DELETE FROM orders WHERE id = 6",
        "INSERT INTO orders (id) VALUES (7000)",
    )
    report = table.report("--lag", "1", target=target, code=4)
    assert {each["key"]["id"]: each["kind"] for each in report["differences"]} == {
        5: "different",
        6: "missing",
        7000: "surplus",
    }
