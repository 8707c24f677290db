"""`verify --table --forever`: rounds over what has changed, and what they find."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake

from local_stack import connect
from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until
from tests.integration.operation.test_metrics import free_port
from tests.integration.verification.test_forever import Verification
from verification.foreign import foreign_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import Endpoint, MariadbServer, MysqlServer

pytestmark = pytest.mark.server


@dataclass
class Forever(Verification):
    """`binlog-connector verify URL --tables FILE --forever` in a process of its own."""

    url: str = ""

    def start(self) -> Self:
        """Start it."""
        options = ("--tables", str(self.config), "--forever", "--lag", "1", *self.arguments)
        self.process = forked_command.start("verify", self.url, *options, errors=self.log)
        return self


@dataclass
class Table:
    """A table at the source, and its target, which a test writes."""

    endpoint: Endpoint
    database: str
    path: Path

    def execute(self, *statements: str) -> None:
        """Run statements at the source."""
        with connect(self.endpoint, self.database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self) -> list[tuple[int, str]]:
        """Return the rows of the source."""
        with connect(self.endpoint, self.database) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, note FROM t ORDER BY id")
            return list(cursor.fetchall())

    def write(self, rows: list[tuple[int, str]] | None = None) -> None:
        """Let the target have some rows, or those of the source."""
        ids, notes = zip(*(self.rows() if rows is None else rows), strict=True)
        data = pa.table({"id": pa.array(ids, pa.int64()), "note": notes})
        write_deltalake(self.path, data, mode="overwrite")

    def gtids(self) -> str:
        """Return what the source has."""
        with connect(self.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW VARIABLES LIKE 'gtid_binlog_pos'")
            name = "gtid_binlog_pos" if cursor.fetchall() else "gtid_executed"
            cursor.execute(f"SELECT @@GLOBAL.{name}")
            ((found,),) = cursor.fetchall()
        return str(found).replace("\n", "")


@contextmanager
def compared(
    endpoint: Endpoint,
    database: str,
    folder: Path,
    *arguments: str,
    hours: float = 12,
    before: tuple[str, ...] = (),
    key: str = "",
) -> Iterator[tuple[Table, Forever]]:
    """Yield a table that a process compares all the time, after its first comparison."""
    table = Table(endpoint, database, folder / "t")
    values = ", ".join(f"({number}, 'first')" for number in range(300))
    table.execute(
        *before,
        f"CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(40){key})",
        f"INSERT INTO t VALUES {values}",
    )
    table.write()
    port = free_port()
    file = folder / "audit.toml"
    file.write_text(
        f'[[tables]]\ntable = "{database}.*"\ntarget = "delta:{folder}/{{table}}"\n'
        f'[verify]\nlisten = "127.0.0.1:{port}"\npause_seconds = 0.1\nrows_per_second = 0\n'
        f'full_every_hours = {hours}\n[log]\nformat = "json"\nlevel = "debug"\n'
    )
    url = f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"
    process = Forever(file, arguments=arguments, port=port, url=url)
    with process:
        process.wait_for("round ended")
        yield table, process
        assert process.terminate() == 0


def changed(process: Forever) -> list[tuple[str, int]]:
    """Return verdicts of comparisons of keys, and of how many."""
    lines = [json.loads(line) for line in process.output().splitlines()]
    return [
        (line["message"], line["cdc.changed_keys"])
        for line in lines
        if line.get("cdc.changed_keys", 0) > 0
    ]


def through(process: Forever, table: Table) -> dict[str, Any]:
    """Return through which moment the table is equal, as the process says it."""
    status, body = process.asked("/status.json")
    assert status == 200
    found: dict[str, Any] = json.loads(body)["equal_through"][f"{table.database}.t"]
    return found


def keys_are_compared(endpoint: Endpoint, database: str, folder: Path) -> None:
    with compared(endpoint, database, folder) as (table, process):
        first = process.lines("equal")[0]
        assert (first["cdc.rows"], "cdc.changed_keys" in first) == (300, False)
        # Without a change, the moment moves on, and nothing is read.
        table.execute("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)")
        gtids = table.gtids()
        wait_until(lambda: through(process, table)["transactions"] == gtids, process.output)
        assert changed(process) == []
        assert process.figures("t")["verified_rows_total"] == 300
        table.execute("UPDATE t SET note = 'new' WHERE id IN (3, 5)", "DELETE FROM t WHERE id = 7")
        table.write()
        wait_until(lambda: changed(process), process.output)
        wait_until(lambda: process.figures("t")["differences"] == 0, process.output)
        gtids = table.gtids()
        wait_until(lambda: through(process, table)["transactions"] == gtids, process.output)
        # What the target lacks for longer than the lag.
        rows = table.rows()
        table.execute("UPDATE t SET note = 'lost' WHERE id = 9", "DELETE FROM t WHERE id = 11")
        wait_until(lambda: process.figures("t")["differences"] == 2, process.output)
        told = {(line["cdc.kind"], line["cdc.key"]["id"]) for line in process.lines("row differs")}
        assert told == {("stale", 9), ("surplus", 11)}
        before = through(process, table)
        assert before["transactions"] == gtids
        # It stays so, although nothing changes any more, until the target has it.
        count = len(process.lines("different"))
        wait_until(lambda: len(process.lines("different")) > count + 1, process.output)
        assert through(process, table) == before
        table.write()
        wait_until(lambda: process.figures("t")["differences"] == 0, process.output)
        gtids = table.gtids()
        wait_until(lambda: through(process, table)["transactions"] == gtids, process.output)
        # All of that without another comparison of all rows.
        assert len(process.lines("equal")) == len(changed_equal(process)) + 1
        assert rows != table.rows()
        status, ready = process.asked("/readyz")
        assert (status, "tables: 1, different: 0, not finished: 0" in ready) == (200, True)


def changed_equal(process: Forever) -> list[dict[str, Any]]:
    return [line for line in process.lines("equal") if "cdc.changed_keys" in line]


def test_only_keys_that_have_changed_are_compared(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    keys_are_compared(mysql_server.endpoint, database, tmp_path)


def test_only_keys_that_have_changed_are_compared_on_mariadb(
    mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    keys_are_compared(mariadb_server.endpoint, mariadb_database, tmp_path)


def test_what_no_change_of_the_source_explains_is_found_by_a_comparison_of_all_rows(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    with compared(mysql_server.endpoint, database, tmp_path, hours=0) as (table, process):
        table.write([*table.rows()[1:], (0, "written by hand")])
        wait_until(lambda: process.figures("t")["differences"] == 1, process.output)
        table.write()
        wait_until(lambda: process.figures("t")["differences"] == 0, process.output)
        assert changed(process) == []


@pytest.mark.parametrize(
    "statements",
    [
        ("TRUNCATE t", "INSERT INTO t VALUES (1, 'again')"),
        ("ALTER TABLE t ADD more INT", "INSERT INTO t (id, note) VALUES (900, 'more')"),
        (
            "XA START 'forever'",
            "UPDATE t SET note = 'xa' WHERE id = 2",
            "XA END 'forever'",
            "XA PREPARE 'forever'",
            "DO SLEEP(1)",
            "XA COMMIT 'forever'",
        ),
    ],
)
def test_what_the_log_does_not_name_is_compared_as_a_whole(
    mysql_server: MysqlServer, database: str, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    with compared(mysql_server.endpoint, database, tmp_path) as (table, process):
        table.execute(*statements)
        table.write()
        wait_until(lambda: len(whole(process)) > 1, process.output)
        gtids = table.gtids()
        wait_until(lambda: through(process, table)["transactions"] == gtids, process.output)
        assert process.figures("t")["differences"] == 0


def cascades_are_seen(endpoint: Endpoint, database: str, folder: Path) -> None:
    values = ", ".join(f"({number})" for number in range(300))
    before = "CREATE TABLE parent (id INT PRIMARY KEY)", f"INSERT INTO parent VALUES {values}"
    key = ", FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE"
    parents = pa.table({"id": pa.array(range(300), pa.int64())})
    write_deltalake(folder / "parent", parents)
    with compared(endpoint, database, folder, before=before, key=key) as (table, process):
        # The log has no trace of the row of the child, which the target keeps.
        table.execute("DELETE FROM parent WHERE id = 7")
        write_deltalake(folder / "parent", parents.filter(pc.field("id") != 7), mode="overwrite")
        wait_until(lambda: process.figures("t")["differences"] == 1, process.output)
        (told, *_) = process.lines("row differs")
        assert (told["cdc.kind"], told["cdc.key"]) == ("surplus", {"id": 7})
        assert process.lines("each round compares all rows: the log lacks changes")
        table.write()
        wait_until(lambda: process.figures("t")["differences"] == 0, process.output)


def test_what_foreign_keys_cascade_is_seen(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    cascades_are_seen(mysql_server.endpoint, database, tmp_path)


def test_what_foreign_keys_cascade_is_seen_on_mariadb(
    mariadb_server: MariadbServer, mariadb_database: str, tmp_path: Path
) -> None:
    cascades_are_seen(mariadb_server.endpoint, mariadb_database, tmp_path)


def whole(process: Forever) -> list[dict[str, Any]]:
    """Return the comparisons of all rows that found them equal."""
    return [line for line in process.lines("equal") if "cdc.changed_keys" not in line]


def test_a_table_with_two_targets_has_no_figures(
    mysql_server: MysqlServer, database: str, tmp_path: Path
) -> None:
    table = Table(mysql_server.endpoint, database, tmp_path / "t")
    table.execute("CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(40))")
    end = table.endpoint
    url = f"mysql://{end.user}:{end.password}@{end.host}:{end.port}"
    targets = [f"{database}.t=delta:{tmp_path}/{name}" for name in "ab"]
    options = [word for target in targets for word in ("--table", target)]
    done = forked_command.run("verify", url, *options, "--forever")
    assert done.returncode == 2
    why = "with --forever, a table has one target"
    facts: Callable[..., str] = shown
    expected = facts(foreign_errors.TARGET_FORM, text=targets[1], why=why, kinds=[])
    assert expected.split(why)[0] + why in done.stderr
