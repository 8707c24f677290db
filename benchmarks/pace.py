"""What reading of the source costs others there: latencies of an application beside it.

One process sends short statements at a fixed rate all the time. Meanwhile, at the pace that the law
of pace allows (`adaptive`) and at full pace, a process lets the server sum a table like `verify`,
a connector copies the table, or `verify` compares it. Between two of these phases, the application
is alone. The ratios compare a phase with what is around it, so other work on the machine counts on
both sides.

In life, connector, broker and `verify` run on other machines. Here, they run when neither the
server nor its application wants a core. On a virtual machine, that alone may double the latencies.
The sums need nothing but the server, so they tell what reading costs there: docs/pace.svg is their
curve.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pymysql.cursors
from pyarrow import parquet

from benchmarks.connectors import OurConnector
from benchmarks.probes import oltp
from benchmarks.process import RunFailed, beside, say, start, stop
from benchmarks.stack import ACCOUNT, BROKER_MEMORY, BROKER_SETTINGS, PASSWORD, USER, Stack
from benchmarks.watch import PROBES
from benchmarks.workload.session import Session, session
from local_stack import KafkaBroker, MysqlServer, connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home

    Doing = Literal["alone", "sums", "copy", "verify"]
    Pace = Literal["adaptive", "full", ""]

ROWS: Final = 3_000_000
RATE_PER_S: Final = 240
DATABASE: Final = "shop"
TABLE: Final = "shop.orders"
_SETTINGS: Final = {"innodb_buffer_pool_size": "1G", "innodb_flush_log_at_trx_commit": "1"}
# Until a reader is at its pace, and until what it did has come to an end.
_SETTLE_S: Final = 5.0
_COLUMNS: Final = (
    "id INT PRIMARY KEY AUTO_INCREMENT, customer BIGINT NOT NULL, price DECIMAL(12,2), "
    "name VARCHAR(60), ordered DATETIME, note VARCHAR(200)"
)
_NAMES: Final = "customer, price, name, ordered, note"
_VALUES: Final = (
    "FLOOR(RAND()*1e9), RAND()*10000, CONCAT('name ', FLOOR(RAND()*1e6)), "
    "'2026-01-01' + INTERVAL RAND()*3e7 SECOND, REPEAT('x', 40 + FLOOR(RAND()*80))"
)
# The sums come first: the curve has them beside each other.
_PHASES: Final[tuple[tuple[Doing, Pace], ...]] = (
    ("sums", "adaptive"),
    ("sums", "full"),
    ("copy", "adaptive"),
    ("copy", "full"),
    ("verify", "adaptive"),
    ("verify", "full"),
)


@dataclass
class _Phase:
    """A time in which one thing was done."""

    doing: Doing
    pace: Pace
    began: float  # on the monotonic clock
    end: float
    rows_per_s: float = 0.0  # that the server read for somebody else than the application
    micros: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What was done, in words."""
        return f"{self.doing} {self.pace}".strip()

    def each(self, part: float) -> list[float]:
        """Return a quantile of the latencies in each second, in microseconds."""
        whole = len(self.micros) // RATE_PER_S * RATE_PER_S
        return [
            _quantile(self.micros[place : place + RATE_PER_S], part)
            for place in range(0, whole, RATE_PER_S)
        ]


def measure_pace(
    home: Home, rows: int, runs: int, seconds: float, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the ratios and the curve of latencies, and print them; raises RunFailed."""
    mysql = MysqlServer(home.folder("pace-source"), settings=_SETTINGS, cache=home.cache)
    with mysql, _Application(mysql, home, rows) as application:
        # Everything that is started from here on runs on what is left.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        folder = home.folder("pace-broker")
        shutil.rmtree(folder)
        broker = KafkaBroker(
            folder, settings=BROKER_SETTINGS, memory=BROKER_MEMORY,
            cache=home.cache,
        )  # fmt: skip
        with broker:
            reader = _Reader(Stack(home, mysql, broker), application.parquet, rows, compiled)
            phases = []
            for number in range(runs):
                for doing, pace in _PHASES:
                    phases.append(_phase(mysql, "alone", "", seconds))
                    with reader.reading(doing, pace, f"pace{number}{doing}{pace}"):
                        phases.append(_phase(mysql, doing, pace, seconds))
                phases.append(_phase(mysql, "alone", "", seconds))
    application.assign(phases)
    _write_curve(home.folder("results") / "pace.csv", phases)
    return {**_summary(phases), "rounds": _rounds(phases)}


def _phase(mysql: MysqlServer, doing: Doing, pace: Pace, seconds: float) -> _Phase:
    time.sleep(_SETTLE_S)
    before, began = _rows_read(mysql), time.monotonic()
    time.sleep(seconds)
    end = time.monotonic()
    read = (_rows_read(mysql) - before) / (end - began) - RATE_PER_S
    say(f"{doing} {pace}: {max(0.0, read):,.0f} rows/s")
    return _Phase(doing, pace, began, end, max(0.0, read))


def _rows_read(mysql: MysqlServer) -> int:
    with session(mysql.endpoint) as connection:
        ((_, value),) = connection.rows("SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'")
    return int(str(value))


class _Application:
    """The tables, and the process that sends statements; a context manager ends it."""

    def __init__(self, mysql: MysqlServer, home: Home, rows: int) -> None:
        self._mysql = mysql
        self._rows = rows
        self._output = home.folder("runs") / "oltp.txt"
        self.parquet = home.folder("pace-parquet")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._fill()
        endpoint = self._mysql.endpoint
        with session(endpoint) as connection:
            connection.execute(
                "SET sql_log_bin = 0",
                f"CREATE USER IF NOT EXISTS {oltp.USER}@'%'",
                f"GRANT SELECT, UPDATE ON {oltp.DATABASE}.* TO {oltp.USER}@'%'",
            )
        program = str(PROBES / "oltp.py")
        address = f"{endpoint.host}:{endpoint.port}"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, program, address, str(RATE_PER_S)], stdout=output
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        stop(self._process)

    def assign(self, phases: list[_Phase]) -> None:
        """Give each phase the latencies of the statements that were due in it."""
        for line in self._output.read_text().splitlines():
            due, micros = map(float, line.split())
            for phase in phases:
                if phase.began <= due < phase.end:
                    phase.micros.append(micros)
        for phase in phases:
            if len(phase.micros) < RATE_PER_S * (phase.end - phase.began) / 2:
                reason = f"{phase.name}: the application sent {len(phase.micros)} statements only"
                raise RunFailed(reason)

    def _fill(self) -> None:
        with session(self._mysql.endpoint) as connection:
            if connection.rows("SHOW DATABASES LIKE 'oltp'") and self._is_filled():
                return
            say(f"pace: a table of {self._rows:,} rows")
            connection.execute("SET sql_log_bin = 0", "DROP DATABASE IF EXISTS oltp")
            fill_orders(connection, self._rows)
            connection.execute(
                "SET sql_log_bin = 0",
                "CREATE DATABASE oltp",
                "CREATE TABLE oltp.account (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60), "
                "balance BIGINT NOT NULL DEFAULT 0) DEFAULT CHARSET utf8mb4",
                "INSERT INTO oltp.account (name) SELECT name FROM "
                f"{TABLE} ORDER BY id LIMIT {oltp.ROWS}",
            )
        self._export()

    def _is_filled(self) -> bool:
        with session(self._mysql.endpoint) as connection:
            ((count,),) = connection.rows(f"SELECT COUNT(*) FROM {TABLE}")
        return count == self._rows and (self.parquet / "orders.parquet").exists()

    def _export(self) -> None:
        """Write the table as another program would."""
        with (
            connect(self._mysql.endpoint) as connection,
            connection.cursor(pymysql.cursors.SSCursor) as cursor,
        ):
            cursor.execute(f"SELECT * FROM {TABLE} ORDER BY id")
            names = [column[0] for column in cursor.description]
            writer: parquet.ParquetWriter | None = None
            while rows := cursor.fetchmany(100_000):
                columns = [pa.array(column) for column in zip(*rows, strict=True)]
                data = pa.table(columns, names)
                if writer is None:
                    writer = parquet.ParquetWriter(self.parquet / "orders.parquet", data.schema)
                writer.write_table(data.cast(writer.schema))
        if writer is not None:
            writer.close()


def fill_orders(connection: Session, rows: int) -> None:
    """Make the table with so many rows, and the account that reads it."""
    connection.execute(
        "SET sql_log_bin = 0",
        f"DROP DATABASE IF EXISTS {DATABASE}",
        f"DROP USER IF EXISTS {USER}@'%'",
        *ACCOUNT,
        f"CREATE DATABASE {DATABASE}",
        f"CREATE TABLE {TABLE} ({_COLUMNS}) DEFAULT CHARSET utf8mb4",
        f"INSERT INTO {TABLE} ({_NAMES}) VALUES ({_VALUES})",
    )
    count = 1
    while count < rows:
        some = min(count, rows - count)
        connection.execute(
            "SET sql_log_bin = 0",
            f"INSERT INTO {TABLE} ({_NAMES}) SELECT {_VALUES} FROM {TABLE} LIMIT {some}",
        )
        count += some


class _Reader:
    """Starts what reads the table."""

    def __init__(
        self, stack: Stack, folder: Path, rows: int, compiled: Literal["require", "off"]
    ) -> None:
        self._stack = stack
        self._folder = folder
        self._rows = rows
        self._compiled: Literal["require", "off"] = compiled

    @contextmanager
    def reading(self, doing: Doing, pace: Pace, prefix: str) -> Iterator[None]:
        """Read for the length of a block."""
        if doing == "verify":
            with self._verifying(pace):
                yield
            return
        if doing == "sums":
            with self._summing(pace):
                yield
            return
        settings = f'partitions = 1\n[snapshot]\npace = "{pace}"\n'
        connector = OurConnector(self._stack, prefix, DATABASE, self._compiled, settings)
        connector.log.unlink(missing_ok=True)
        connector.copy(TABLE)
        command = [sys.executable, "-m", "connector", "snapshot", str(connector.config), TABLE]
        try:
            _wait_for(connector.log, "is to be copied")
            # At full pace, a copy takes a few seconds.
            with self._repeated(command, f"pace-{doing}.log"):
                yield
            connector.check()
        finally:
            connector.stop()

    @contextmanager
    def _summing(self, pace: Pace) -> Iterator[None]:
        """Let the server sum the table again and again."""
        source = self._stack.source
        program, address = str(PROBES / "sums.py"), f"{source.host}:{source.port}"
        command = [sys.executable, program, address, str(self._rows), pace]
        log = self._stack.home.folder("runs") / "pace-sums.log"
        process = start(command, log, CONNECTOR_COMPILED=self._compiled)
        try:
            yield
            if process.poll() is not None:
                reason = f"the sums have ended: {log} says why"
                raise RunFailed(reason)
        finally:
            stop(process)

    @contextmanager
    def _verifying(self, pace: Pace) -> Iterator[None]:
        """Compare the table again and again."""
        source = self._stack.source
        url = f"mysql://{USER}:{PASSWORD}@{source.host}:{source.port}/?ssl-mode=disabled"
        url += "&get-server-public-key=true"
        command = [sys.executable, "-m", "connector", "verify", url, "--pace", pace]
        command += ["--table", f"{TABLE}=parquet:{self._folder}"]
        with self._repeated(command, "pace-verify.log"):
            yield

    @contextmanager
    def _repeated(self, command: list[str], name: str) -> Iterator[None]:
        """Run a command again and again, which must end with 0; its log has a `name`."""
        log = self._stack.home.folder("runs") / name
        codes = list[int]()

        def repeat(ended: threading.Event) -> None:
            while not ended.is_set():
                process = start(command, log, CONNECTOR_COMPILED=self._compiled)
                while process.poll() is None and not ended.is_set():
                    time.sleep(0.1)
                if process.poll() is None:
                    stop(process)
                else:
                    codes.append(process.returncode)

        with beside(repeat):
            yield
        if any(codes):
            reason = f"{command[3]} ended with {codes}: {log} says why"
            raise RunFailed(reason)


def _wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + 60.0
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            reason = f"{log}: no line says {text!r}"
            raise RunFailed(reason)
        time.sleep(0.1)


def _quantile(micros: list[float], part: float) -> float:
    ordered = sorted(micros)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _write_curve(path: Path, phases: list[_Phase]) -> None:
    """Write and print the latencies second by second."""
    lines = ["second,phase,p50_us,p99_us,rows_read_per_s"]
    for phase in phases:
        for second, (p50, p99) in enumerate(zip(phase.each(0.5), phase.each(0.99), strict=True)):
            at = phase.began - phases[0].began + second
            lines.append(f"{at:.0f},{phase.name},{p50:.0f},{p99:.0f},{phase.rows_per_s:.0f}")
    path.write_text("\n".join([*lines, ""]))
    sys.stdout.write(path.read_text())
    say(f"the curve is in {path}")


def _rounds(phases: list[_Phase]) -> list[list[dict[str, Any]]]:
    """Return the curve of the sums: of each round, these phases and those around them."""
    return [
        [
            {
                "phase": phase.name,
                "rows_per_s": phase.rows_per_s,
                "p50_us": phase.each(0.5),
                "p99_us": phase.each(0.99),
            }
            for phase in phases[place - 1 : place + 4]
        ]
        for place, first in enumerate(phases)
        if (first.doing, first.pace) == _PHASES[0]
    ]


def _summary(phases: list[_Phase]) -> dict[str, Any]:
    """Tell the ratios, and return them."""
    found: dict[str, Any] = {"rate_per_s": RATE_PER_S}
    alone = [phase for phase in phases if phase.doing == "alone"]
    quantiles = (0.5, 0.95, 0.99)
    before = [round(_quantile(phase.micros, 0.99)) for phase in alone]
    say(f"alone: p99 of each phase, in microseconds: {before}")
    for doing, pace in _PHASES:
        ratios: dict[float, list[float]] = {part: [] for part in quantiles}
        rows = []
        for place, phase in enumerate(phases):
            if (phase.doing, phase.pace) != (doing, pace):
                continue
            rows.append(phase.rows_per_s)
            around = phases[place - 1].micros + phases[place + 1].micros
            for part, those in ratios.items():
                those.append(_quantile(phase.micros, part) / _quantile(around, part))
        name = f"{doing} {pace}"
        found[name] = {f"p{part * 100:.0f}": those for part, those in ratios.items()}
        found[name]["rows_per_s"] = rows
        medians = ", ".join(
            f"p{part * 100:.0f} {statistics.median(those):.2f}" for part, those in ratios.items()
        )
        say(
            f"{name}: times as high as alone: {medians} (p99 of each round: "
            f"{', '.join(f'{each:.2f}' for each in ratios[0.99])}); "
            f"{statistics.median(rows):,.0f} rows/s"
        )
    return found
