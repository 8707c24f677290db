"""`verify` on a running pipeline: rows a second, and whether each injected difference is found.

Beside it run the programs of `benchmarks.verify_rivals`, on the same tables.

Two tables are copied by the connector and mirrored by the Spark job, which both go on: `orders`,
which is compared by sums, and `measures` with a fifth of its rows, which has DOUBLE values and is
compared row by row. Then the mirror of `orders` is damaged in each way, under changes; the command
has to find exactly these differences, repair them, and find nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pymysql

from benchmarks.connectors import OurConnector
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.process import RunFailed, beside, run_to_end, say
from benchmarks.stack import ACCOUNT, BROKER_MEMORY, BROKER_SETTINGS, PASSWORD, USER, Stack
from benchmarks.verify_damage import RESERVED, damage, injected, rows_of
from benchmarks.verify_foreign import mirrored_rows, write_copies
from benchmarks.verify_rivals import (
    SourceCost,
    compare_all,
    hash_diffs,
    spark_except,
    table_checksum,
)
from benchmarks.workload.session import session
from local_stack import KafkaBroker, MysqlServer
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home

ROWS: Final = 5_000_000
DATABASE: Final = "proof"
_PREFIX: Final = "proof"
_RATE_PER_S: Final = 500
_WAIT_S: Final = 3600.0
_MAX_OFFSETS: Final = 1_000_000
_SETTINGS: Final = {"innodb_buffer_pool_size": "1G", "max_allowed_packet": "64M"}
_DIFFERENT: Final = 4
_COLUMNS: Final = (
    "id INT PRIMARY KEY AUTO_INCREMENT, customer BIGINT NOT NULL, price DECIMAL(12,2), "
    "name VARCHAR(60), note VARCHAR(100), ordered DATETIME, changed TIMESTAMP(3) NULL, "
    "day DATE, flag TINYINT, state ENUM('new','paid','sent'), token VARBINARY(16), "
    "blank VARCHAR(9) NOT NULL DEFAULT ''"
)
_VALUES: Final = (
    "FLOOR(RAND()*1e9), RAND()*10000, CONCAT('name ', FLOOR(RAND()*1e6)), "
    "IF(RAND() < 0.3, NULL, REPEAT('x', RAND()*60)), '2026-01-01' + INTERVAL RAND()*3e7 SECOND, "
    "'2026-01-01' + INTERVAL RAND()*3e7 SECOND, '2026-01-01' + INTERVAL RAND()*300 DAY, "
    "RAND() < 0.5, 1 + FLOOR(RAND()*3), UNHEX(MD5(RAND()))"
)
_NAMES: Final = "customer, price, name, note, ordered, changed, day, flag, state, token"
_STEPPED: Final = ("customer", "price", "name", "ordered", "changed", "day", "flag", "token")


def measure_verify(home: Home, rows: int, compiled: Literal["require", "off"]) -> dict[str, Any]:
    """Return the figures; raises RunFailed if a difference is overlooked or invented."""
    work = home.folder("verify")
    shutil.rmtree(work)
    settings = BROKER_SETTINGS | {"message.max.bytes": str(4 * 1024 * 1024)}
    broker = KafkaBroker(work / "broker", settings=settings, memory=BROKER_MEMORY, cache=home.cache)
    mysql = MysqlServer(work / "source", settings=_SETTINGS, cache=home.cache)
    os.environ["CONNECTOR_COMPILED"] = compiled
    with broker, mysql:
        servers = Stack(home, mysql, broker)
        _fill(servers, rows)
        connector = OurConnector(servers, _PREFIX, DATABASE, compiled)
        job = MirrorJob(work, "ours", servers.bootstrap, _PREFIX)
        connector.copy(f"{DATABASE}.*")
        try:
            with job.start(_MAX_OFFSETS, "processingTime") as running:
                threading.Thread(target=lambda: deque(running.lines(), 0), daemon=True).start()
                _await_rows(job.mirror, {"orders": rows, "measures": rows // 5})
                found = _Proof(servers, job.mirror, work, rows).run()
                running.process.terminate()
        finally:
            connector.stop()
    shutil.rmtree(work)
    return {"rows": rows, "compiled": compiled == "require", **found}


def _fill(servers: Stack, rows: int) -> None:
    """Make the tables, without a record in the log."""
    with session(servers.source) as connection:
        connection.execute(
            "SET sql_log_bin = 0",
            *ACCOUNT,
            f"CREATE DATABASE {DATABASE}",
            f"USE {DATABASE}",
            f"CREATE TABLE orders ({_COLUMNS}) DEFAULT CHARSET utf8mb4",
            f"CREATE TABLE measures ({_COLUMNS}, weight DOUBLE) DEFAULT CHARSET utf8mb4",
            f"INSERT INTO orders ({_NAMES}) VALUES ({_VALUES})",
        )
        count = 1
        while count < rows:
            some = min(count, rows - count, 500_000)
            connection.execute(
                f"INSERT INTO orders ({_NAMES}) SELECT {_VALUES} FROM orders LIMIT {some}"
            )
            count += some
        # Without gaps, so that each key up to the last one is there.
        connection.execute(
            "SET @number = 0",
            "UPDATE orders SET id = (@number := @number + 1) ORDER BY id",
            f"UPDATE orders SET {', '.join(f'{name} = {_SURE[name]}' for name in _SURE)} "
            f"WHERE id <= {RESERVED}",
            "INSERT INTO measures SELECT orders.*, RAND() FROM orders ORDER BY id "
            f"LIMIT {rows // 5}",
        )


# No value of a row that is damaged is NULL, or the last one of its type.
_SURE: Final = {"price": "1.50", "name": "'name'", "flag": "1", "token": "X'00FF'"}


def _await_rows(mirror: Path, wanted: dict[str, int]) -> None:
    deadline = time.monotonic() + _WAIT_S
    for name, rows in wanted.items():
        while (table := _table(mirror, name)) is None or table.snapshot.live_rows < rows:
            if time.monotonic() > deadline:
                reason = f"the mirror of {name} had not all rows after {_WAIT_S:g} s"
                raise RunFailed(reason)
            time.sleep(1)
        say(f"verify: the mirror of {name} has {rows:,} rows")


def _table(mirror: Path, name: str) -> DeltaTable | None:
    return DeltaTable.open(LocalStorage(str(mirror)), f"{DATABASE}/{name}")


class _Proof:
    """Runs the command, and knows what it has to find."""

    def __init__(self, servers: Stack, mirror: Path, work: Path, rows: int) -> None:
        self._servers = servers
        self._mirror = mirror
        self._rows = rows
        folder = servers.home.folder("runs")
        config, job = folder / f"{_PREFIX}.toml", work / f"{_PREFIX}-ours" / "config"
        job_file = work / "job.toml"
        shutil.copy(job, job_file)
        config.chmod(0o600)
        job_file.chmod(0o600)
        self._verify = [sys.executable, "-m", "connector", "verify"]
        self._command = [*self._verify, str(config), "--mirror", str(job_file), "--json"]
        at_full_pace = work / "full.toml"
        at_full_pace.write_text(config.read_text() + '\n[snapshot]\npace = "full"\n')
        at_full_pace.chmod(0o600)
        self._at_full_pace = [*self._command]
        self._at_full_pace[self._command.index(str(config))] = str(at_full_pace)
        self._certificate = work / "certificate.json"
        self._copies = work / "copies"

    def run(self) -> dict[str, Any]:
        """Return the figures of all steps."""
        servers, rows = self._servers, self._rows
        found: dict[str, Any] = {
            "bytes_a_row": self._bytes_a_row(),
            "sums": self._verified("orders", 0),
            "sums_full": self._verified("orders", 0, command=self._at_full_pace),
            "row_by_row": self._verified("measures", 0),
            "certificate": self._timed(
                [*self._command, "--certificate", str(self._certificate), f"{DATABASE}.orders"]
            ),
            "check": self._timed([*self._verify, "--check", str(self._certificate), "--json"]),
            **self._foreign(),
            "plain": compare_all(servers, self._mirror, DATABASE, rows),
            **hash_diffs(servers, DATABASE, rows),
            "table_checksum": table_checksum(servers, DATABASE, rows),
            "except": spark_except(servers, self._mirror, DATABASE, rows),
        }
        expected = self._damage()
        with beside(self._write):
            found["damaged"] = self._verified("orders", _DIFFERENT)
            self._check(found["damaged"], expected)
            found["repaired"] = self._verified("orders", 0, "--repair")
            found["under_load"] = self._verified("orders", 0)
        found["equal"] = self._verified("orders", 0)
        found["injected"] = len(expected)
        for step in found.values():
            if isinstance(step, dict):
                step.pop("differences", None)
        return found

    def _bytes_a_row(self) -> float:
        """Return the bytes of a row of `orders` in the source's own format."""
        with session(self._servers.source) as connection:
            connection.execute(f"ANALYZE NO_WRITE_TO_BINLOG TABLE {DATABASE}.orders")
            ((size,),) = connection.rows(
                "SELECT data_length FROM information_schema.tables "
                f"WHERE table_schema = '{DATABASE}' AND table_name = 'orders'"
            )
        return round(int(str(size)) / self._rows, 1)

    def _foreign(self) -> dict[str, Any]:
        """Return the figures of copies of `orders` that other programs would have written."""
        table = _table(self._mirror, "orders")
        assert table is not None
        names = ("id", *_NAMES.split(", "), "blank")
        targets = write_copies(mirrored_rows(table, names), self._copies)
        source = self._servers.source
        url = f"mysql://{USER}:{PASSWORD}@{source.host}:{source.port}"
        url += "/?ssl-mode=disabled&get-server-public-key=true"
        command = [*self._verify, url, "--json", "--table"]
        return {
            name: self._timed([*command, f"{DATABASE}.orders={target}"], on_one_core=False)
            for name, target in targets.items()
        }

    def _timed(self, command: list[str], *, on_one_core: bool = True) -> dict[str, Any]:
        """Run a command on all of `orders`, which must end with 0."""
        cost, began = SourceCost(self._servers), time.monotonic()
        done = run_to_end(command, on_one_core=on_one_core)
        wall = time.monotonic() - began
        found = {
            "rows": self._rows,
            "rows_per_s": round(self._rows / wall),
            "wall_s": round(wall, 2),
            "cpu_s": round(done.cpu_s, 2),
            "peak_mb": round(done.peak_mb),
            **cost.figures(),
        }
        say(f"verify {' '.join(command[4:])}: {found}")
        return found

    def _verified(
        self, table: str, code: int, *options: str, command: Sequence[str] = ()
    ) -> dict[str, Any]:
        cost, began = SourceCost(self._servers), time.monotonic()
        command = [*(command or self._command), *options, f"{DATABASE}.{table}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        report = json.loads(output)["tables"][0]
        if process.returncode != code:
            short = {key: value for key, value in report.items() if key != "differences"}
            reason = f"verify of {table} ended with {process.returncode}, not {code}: {short}"
            raise RunFailed(reason)
        found = {
            "rows": report["rows"],
            "rows_by_checksum": report["rows_by_checksum"],
            "seconds": report["seconds"],
            "rows_per_s": round(report["rows"] / report["seconds"]),
            "wall_s": round(wall, 2),
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_mb": round(usage.ru_maxrss / 1024),
            **cost.figures(),
            "differences": report["differences"],
        }
        shown = {key: value for key, value in found.items() if key != "differences"}
        say(f"verify {table} {' '.join(options)}: {shown}")
        return found

    def _damage(self) -> dict[int, str]:
        """Damage the mirror of `orders`; return the kinds of differences by key."""
        table = _table(self._mirror, "orders")
        assert table is not None
        kinds = {column.name: column.type for column in table.snapshot.columns}
        replaced = injected({name: kinds[name] for name in _STEPPED})
        stale, resurrected = 100, 101
        old = rows_of(table, {stale, resurrected})
        with session(self._servers.source) as connection:
            connection.execute(
                f"UPDATE {DATABASE}.orders SET price = price + 1 WHERE id = {stale}",
                f"DELETE FROM {DATABASE}.orders WHERE id = {resurrected}",
            )
        deadline = time.monotonic() + _WAIT_S
        while rows_of(table, {resurrected}) and time.monotonic() < deadline:
            time.sleep(1)
        surplus = self._rows + 10_000_000
        damage(table, {1}, replaced, old, {surplus: 200})
        steps = dict.fromkeys((*replaced, stale), "different")
        return steps | {1: "missing", surplus: "surplus", resurrected: "surplus"}

    def _check(self, found: dict[str, Any], expected: dict[int, str]) -> None:
        kinds = {each["key"]["id"]: each["kind"] for each in found["differences"]}
        if kinds != expected:
            reason = f"verify found {kinds}, and the mirror has {expected}"
            raise RunFailed(reason)

    def _write(self, ended: threading.Event) -> None:
        """Change rows until the end: 500 updates, inserts and deletes a second."""
        source = self._servers.source
        connection = pymysql.connect(
            host=source.host, port=source.port, user=source.user, password=source.password,
            database=DATABASE, autocommit=True,
        )  # fmt: skip
        dice = np.random.default_rng(5)
        began, count = time.monotonic(), 0
        with connection, connection.cursor() as cursor:
            while not ended.is_set():
                key = int(dice.integers(RESERVED, self._rows)) + 1
                if count % 10 == 0:
                    cursor.execute(f"DELETE FROM orders WHERE id = {key}")
                elif count % 10 == 1:
                    cursor.execute(f"INSERT INTO orders ({_NAMES}) VALUES ({_VALUES})")
                else:
                    cursor.execute(f"UPDATE orders SET price = RAND()*1000 WHERE id = {key}")
                count += 1
                ended.wait(max(0.0, began + count / _RATE_PER_S - time.monotonic()))
