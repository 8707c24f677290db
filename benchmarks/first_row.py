"""`python -m benchmarks.first_row WHEEL`: two commands, from an empty environment to the first row.

pip installs a wheel with its extra `mirror` into a new environment, and `up` copies the tables of a
server on this machine. A first installation, which is thrown away, fills pip's cache. The clock
runs from the start of the first command until another process can read a row. What a user sees on
the terminal meanwhile is kept as text, in docs/tasks/up.md.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deltalake import DeltaTable, QueryBuilder

from benchmarks.first_row_documents import write_first_row
from benchmarks.home import Home
from benchmarks.process import RunFailed, say
from benchmarks.report import write_lake
from benchmarks.terminal import Terminal
from benchmarks.workload.session import session
from local_stack import MysqlServer
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

_PASSWORD: Final = "secret"
# The account of docs/tasks/up.md.
_SOURCE: Final = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(40))",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, customer INT, amount DECIMAL(10,2))",
    "INSERT INTO shop.customers VALUES (1, 'Ada'), (2, 'Grace')",
    "INSERT INTO shop.orders VALUES (1, 1, 9.90), (2, 2, 17.50), (3, 1, 4.20)",
    f"CREATE USER cdc@'%' IDENTIFIED BY '{_PASSWORD}'",
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO cdc@'%'",
    "GRANT SELECT, LOCK TABLES ON shop.* TO cdc@'%'",
)
_INSTALL: Final = "pip install --quiet 'binlog-connector[mirror]'"
_WAIT_S: Final = 300.0
_LOOK_S: Final = 0.05
# The display has the tables then, too.
_SHOWN_S: Final = 10.0


def main() -> int:
    """Measure, and write the documents; returns 1 when a command has failed."""
    parser = argparse.ArgumentParser(prog="make first-row", description=__doc__)
    parser.add_argument("wheel", type=Path, help="of binlog-connector")
    arguments = parser.parse_args()
    # A job in the background ignores Ctrl-C, and so would `up`.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = Home(1.0)
    try:
        with home.alone():
            found = _measure(home, arguments.wheel.resolve())
    except (RunFailed, LocalStackError) as error:
        say(f"failed: {error}")
        return 1
    home.store("first-row", found)
    write_first_row(home)
    write_lake(home)
    return 0


def _measure(home: Home, wheel: Path) -> dict[str, Any]:
    folder = home.folder("first-row")
    shutil.rmtree(folder)
    folder.mkdir()
    with _environment(folder, "cached") as scrap:
        _install(scrap, wheel)
    with MysqlServer(folder / "source", cache=home.cache) as mysql:
        with session(mysql.endpoint) as connection:
            connection.execute(*_SOURCE)
        began = time.monotonic()
        with _environment(folder, "empty") as environment:
            made = time.monotonic()
            _install(environment, wheel)
            installed = time.monotonic()
            command = _command(mysql.endpoint)
            lines, readable = _up(folder, environment, command)
    return {
        "compiled": "none-any" not in wheel.name,
        "environment_s": round(made - began, 1),
        "install_s": round(installed - made, 1),
        "up_s": round(readable - installed, 1),
        "recording": [f"$ {_INSTALL}", f"$ {command}", *lines],
    }


@contextmanager
def _environment(folder: Path, name: str) -> Iterator[Path]:
    """Make an empty virtual environment for the length of a block."""
    path = folder / name
    subprocess.run([sys.executable, "-m", "venv", str(path)], check=True)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _install(environment: Path, wheel: Path) -> None:
    command = [str(environment / "bin" / "pip"), "install", "--quiet"]
    command += ["--disable-pip-version-check", f"{wheel}[mirror]"]
    done = subprocess.run(command, env=_variables(environment), check=False)
    if done.returncode:
        reason = f"{shlex.join(command)} has failed"
        raise RunFailed(reason)


def _variables(environment: Path) -> dict[str, str]:
    """Return the environment variables without those by which Python finds modules elsewhere."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "CONNECTOR_"))
    }
    path = f"{environment / 'bin'}:{kept['PATH']}"
    return kept | {"PATH": path, "TERM": "xterm-256color"}


def _command(source: Endpoint) -> str:
    return f"binlog-connector up mysql://cdc@{source.host}:{source.port}/shop --to lake"


def _up(folder: Path, environment: Path, command: str) -> tuple[list[str], float]:
    """Run `up` in a terminal until its first row can be read; return what it showed, and when."""
    lake = folder / "lake"
    with Terminal(shlex.split(command), folder, _variables(environment)) as terminal:
        terminal.answer("Password: ", _PASSWORD)
        readable = _first_row(lake / "shop" / "orders", terminal)
        terminal.read(_SHOWN_S)
        terminal.interrupt()
    # As in the folder of a user.
    return [line.replace(f"{folder}/", "") for line in terminal.lines()], readable


def _first_row(table: Path, terminal: Terminal) -> float:
    """Return when a row of the table could be read; raises RunFailed when none comes."""
    deadline = time.monotonic() + _WAIT_S
    while terminal.read(_LOOK_S) and time.monotonic() < deadline:
        if DeltaTable.is_deltatable(str(table)) and _rows(table):
            return time.monotonic()
    shown = "\n".join(terminal.lines())
    reason = f"no row can be read in {table}:\n{shown}"
    raise RunFailed(reason)


def _rows(table: Path) -> int:
    query = QueryBuilder().register("rows", DeltaTable(table))
    return sum(batch.num_rows for batch in query.execute("SELECT * FROM rows"))


if __name__ == "__main__":
    sys.exit(main())
