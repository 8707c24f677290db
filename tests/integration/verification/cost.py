"""`python -m tests.integration.verification.cost`: what `verify --forever` costs a busy source.

A table of 100,000 rows and nine small ones have 200 changes a second, and an application reads
20,000 rows a second. The same load runs without the comparison and with it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from local_stack import KafkaBroker, MysqlServer, connect
from tests.integration.database_stream import new_stream
from tests.integration.operation.test_metrics import free_port
from tests.integration.verification.pair import pair_of
from tests.integration.verification.test_forever import Verification

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

_ROWS: Final = 100_000
_SMALL: Final = 9
_SMALL_ROWS: Final = 1_000
_PAUSE_SECONDS: Final = 0.05
_CHANGES: Final = 10  # a pause
_READ: Final = 1_000  # a pause


class Cost(NamedTuple):
    """What was counted in a time."""

    rows_per_second: float  # that the source has read
    statements_per_second: float


class Load(threading.Thread):
    """Changes rows and reads rows, at a steady pace."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self.ended = threading.Event()
        self._stream = stream

    def run(self) -> None:
        """Go on until `ended` is set."""
        chance = random.Random(1)
        with connect(self._stream.source, self._stream.database) as connection:
            connection.autocommit(False)
            cursor = connection.cursor()
            due = time.monotonic()
            while not self.ended.wait(max(0.0, due - time.monotonic())):
                due += _PAUSE_SECONDS
                for _ in range(_CHANGES):
                    table, rows = "big", _ROWS
                    if chance.random() < 0.5:
                        table, rows = f"small{chance.randrange(_SMALL)}", _SMALL_ROWS
                    cursor.execute(
                        f"UPDATE {table} SET n = n + 1 WHERE id = {chance.randrange(rows)}"
                    )
                first = chance.randrange(_ROWS)
                cursor.execute(f"SELECT * FROM big WHERE id >= {first} ORDER BY id LIMIT {_READ}")
                cursor.fetchall()
                connection.commit()


def fill(stream: Stream) -> list[str]:
    """Create the tables; return their names, the last one filled last."""
    names = {"big": _ROWS} | {f"small{number}": _SMALL_ROWS for number in range(_SMALL)}
    for name, rows in names.items():
        stream.execute(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT, text VARCHAR(100), at DATETIME(6))",
            "SET cte_max_recursion_depth = 1000000",
            f"INSERT INTO {name} WITH RECURSIVE c AS (SELECT 0 AS id UNION ALL SELECT id + 1 FROM c"
            f" WHERE id < {rows - 1}) SELECT id, 0, REPEAT(MD5(id), 3), NOW(6) FROM c",
        )
    return list(names)


def counted(stream: Stream, seconds: float) -> Cost:
    """Count for some seconds."""

    def counters() -> tuple[int, int]:
        with closing(connect(stream.source)) as connection, connection.cursor() as cursor:
            found = []
            for name in ("Innodb_rows_read", "Questions"):
                cursor.execute("SHOW GLOBAL STATUS LIKE %s", (name,))
                found.append(int((cursor.fetchone() or ("", 0))[1]))
            return found[0], found[1]

    began, before = time.monotonic(), counters()
    time.sleep(seconds)
    after, passed = counters(), time.monotonic() - began
    return Cost((after[0] - before[0]) / passed, (after[1] - before[1]) / passed)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=240.0, help="of each of both times")
    parser.add_argument("--rows-per-second", type=int, default=1000)
    arguments = parser.parse_args()
    port = free_port()
    changed: dict[str, Any] = {"verify__listen": f"127.0.0.1:{port}", "log__format": "json"}
    changed["verify__rows_per_second"] = arguments.rows_per_second
    with (
        tempfile.TemporaryDirectory() as folder,
        MysqlServer(Path(folder) / "mysql") as server,
        KafkaBroker(Path(folder) / "kafka") as broker,
    ):
        stream = new_stream(server.endpoint, broker.endpoint, Path(folder))
        *_, last = fill(stream)
        with pair_of(stream, **changed) as pair:
            while not Path(pair.job.path(last, stream.database)).exists():
                pair.apply()
            load = Load(stream)
            load.start()
            try:
                with pair.applying():
                    without = counted(stream, arguments.seconds)
                    with Verification.of(pair, port) as process:
                        # A round may take longer than what is measured.
                        process.wait_for_lines("starting", 1)
                        assert process.process is not None
                        pid = process.process.pid
                        began, spent = time.monotonic(), cpu_seconds(pid)
                        with_it = counted(stream, arguments.seconds)
                        share = (cpu_seconds(pid) - spent) / (time.monotonic() - began)
                        process.signal(signal.SIGTERM)
                        process.wait()
                        lines = process.lines("equal") + process.lines("row differs")
            finally:
                load.ended.set()
                load.join()
    more = with_it.rows_per_second - without.rows_per_second
    print(
        f"source: {without.rows_per_second:,.0f} rows read a second and "
        f"{without.statements_per_second:,.0f} statements a second without verify, "
        f"{with_it.rows_per_second:,.0f} and {with_it.statements_per_second:,.0f} with it: "
        f"{more / with_it.rows_per_second:.1%} of the rows"
    )
    print(f"verify: {share:.1%} of a core, {len(lines)} comparisons without a difference")
    assert all(line["message"] == "equal" for line in lines)


if __name__ == "__main__":
    main()
