"""A database with one table, and an account that may follow it once it has its rights."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process import beside
from local_stack import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server

PASSWORD = "se:cr@t"
ENCODED = "se%3Acr%40t"
PATIENCE_SECONDS = 300.0


class Shop:
    """A database of two orders."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = f"up_{uuid.uuid4().hex[:8]}"
        self.execute(
            f"CREATE DATABASE {self.name}",
            f"CREATE TABLE {self.name}.orders (id INT PRIMARY KEY, note VARCHAR(50))",
            f"INSERT INTO {self.name}.orders VALUES (1, 'one'), (2, 'two')",
            f"CREATE USER {self.name}@'%' IDENTIFIED BY '{PASSWORD}'",
        )

    def execute(self, *statements: str) -> None:
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def grant(self) -> None:
        self.execute(
            f"GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {self.name}@'%'"
        )

    def drop(self) -> None:
        self.execute(f"DROP DATABASE {self.name}", f"DROP USER {self.name}@'%'")

    @contextmanager
    def load(self) -> Iterator[None]:
        """Change the orders all the time, some hundred times a second."""

        def change(ended: threading.Event) -> None:
            with connect(self.server.endpoint, self.name) as connection:
                cursor = connection.cursor()
                number = 100
                while not ended.wait(0.005):
                    number += 1
                    cursor.execute(f"INSERT INTO orders VALUES ({number}, '{'x' * 40}')")
                    cursor.execute(f"UPDATE orders SET note = '{number}' WHERE id <= 100")
                    cursor.execute(f"DELETE FROM orders WHERE id = {number - 50}")

        with beside(change):
            yield

    @property
    def url(self) -> str:
        endpoint = self.server.endpoint
        return f"mysql://{self.name}:{ENCODED}@{endpoint.host}:{endpoint.port}/{self.name}"


def children(*words: object) -> list[int]:
    """Return the processes of Python and Java whose command lines have `words`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = file.read_bytes().decode(errors="replace")
            if "guard.py" not in command and all(str(word) in command for word in words):
                found.append(int(file.parent.name))
    return found


def stream_processes(lake: Path) -> list[int]:
    """Return the processes by which Spark reads the streams of a lake."""
    machines = {str(pid) for pid in children("java", lake)}
    found = []
    for pid in children("python_streaming_source_runner"):
        with suppress(OSError):
            _, _, facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            if facts.split()[1] in machines:
                found.append(pid)
    return found


def up(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "connector", "up", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def running(log: Path, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "connector", "up", *map(str, arguments)]
    with log.open("ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
