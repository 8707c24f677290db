"""SQL and a server become golden files: the log that it wrote, and what it says of it.

::

    python -m tests.golden.record                          every server, every theme
    python -m tests.golden.record mysql-8.0 --theme xa     one of each

    files/mysql-8.0.31/xa.000001       the log
    files/mysql-8.0.31/xa.json         SHOW BINLOG EVENTS, and SELECT of every table
    files/mysql-8.0.31/heartbeats.dump2    the events of a dump with flags 2, one behind the other
    files/mysql-8.0.31/xa.000001.jsonl.gz  what `dump --format json` prints of it

The last is what our own program says, written once everything else agrees with the server:

    python -m tests.golden.record --expected               writes it anew from the files alone

Each recording has a server of its own, with a fixed server_uuid and clock, so that two recordings
differ in what no client can set alone: times of commit, positions that depend on them, checksums.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pymysql

from local_stack import MariadbServer, MysqlServer
from tests.golden.check import check_shown_events, check_tables, keep_json
from tests.golden.dump_stream import dumped_events
from tests.golden.golden import FILES, LOG_BASENAME, GoldenRecording, recordings
from tests.golden.script import RESTART, SQL_FOLDER, ServerVersion, Theme, themes
from tests.golden.tables import recorded_tables

if TYPE_CHECKING:
    from pymysql import Connection
    from pymysql.cursors import Cursor

    from local_stack.sql_server import SqlServer
    from tests.golden.tables import Rows

DATABASE = "golden"

# 2026-01-01 00:00:00 UTC.
TIMESTAMP = 1767225600

# The servers by what they are called on the command line, with the server_id each gets.
SERVERS = {
    "mysql-5.7": 57,
    "mysql-8.0.15": 8015,
    "mysql-8.0": 80,
    "mysql-9": 90,
    "mariadb-10.5": 105,
    "mariadb-10.11": 1011,
    "mariadb-11.8": 118,
}

# Recorded where it differs from the newer 8.0.
FEW_THEMES = {"mysql-8.0.15": {"generated", "gtids", "partial_json", "types"}}


class GoldenMysqlServer(MysqlServer):
    """A server whose GTIDs are the same in every recording."""

    def _prepare(self) -> None:
        super()._prepare()
        uuid = f"{self.settings['server_id']:0>8}-0000-4000-8000-000000000000"
        (self.directory / "data" / "auto.cnf").write_text(f"[auto]\nserver-uuid={uuid}\n")


def main() -> None:
    """Record what the command line names."""
    parser = argparse.ArgumentParser(description="Record golden binlogs from real servers.")
    parser.add_argument("servers", nargs="*", metavar="server", default=list(SERVERS))
    parser.add_argument("--theme", action="append", help="name of a file in sql/")
    parser.add_argument("--expected", action="store_true", help="write the expected JSON alone")
    arguments = parser.parse_args()
    if arguments.expected:
        for recording in recordings():
            keep_expected_json(recording)
        return
    for server in arguments.servers:
        if server not in SERVERS:
            parser.error(f"{server} is none of {', '.join(SERVERS)}")
        for theme in themes():
            chosen = arguments.theme or FEW_THEMES.get(server)
            if chosen is None or theme.name in chosen:
                record_theme(server, theme)


def record_theme(server: str, theme: Theme) -> None:
    """Record every variant of `theme` that `server` is meant for."""
    for variant, settings in (theme.variants or {"": {}}).items():
        name = f"{theme.name}.{variant}" if variant else theme.name
        with tempfile.TemporaryDirectory() as folder:
            private = private_server(server, Path(folder), {**theme.settings, **settings})
            version = ServerVersion(server.split("-", maxsplit=1)[0], private.version)
            if not version.meets(theme.servers):
                return
            print(f"{server}: {name}", flush=True)
            with private:
                record(private, version, theme, name)


def keep_expected_json(recording: GoldenRecording) -> None:
    """Write what our program prints of the logs, after comparing them with what the server said."""
    check_tables(recording)
    for log in recording.logs:
        check_shown_events(log)
        keep_json(log)


def private_server(server: str, folder: Path, settings: dict[str, str]) -> SqlServer:
    """Return the server, not started."""
    product, version = server.split("-")
    settings = {
        "server_id": str(SERVERS[server]),
        "character_set_server": "utf8mb4",
        "local_infile": "ON",
        **settings,
    }
    if product == "mysql":
        return GoldenMysqlServer(folder, version=version, settings=settings)
    return MariadbServer(folder, version=version, settings=settings)


def record(server: SqlServer, version: ServerVersion, theme: Theme, name: str) -> None:
    """Run the theme's statements and store the logs that they filled."""
    connection = connect(server)
    execute(connection, f"CREATE DATABASE {DATABASE} DEFAULT CHARACTER SET utf8mb4")
    execute(connection, f"USE {DATABASE}")
    for statement in theme.statements_for(version):
        if statement.sql == RESTART:
            connection.close()
            server.restart()
            connection = connect(server)
            execute(connection, f"USE {DATABASE}")
        else:
            try:
                execute(connection, statement.sql)
            except pymysql.MySQLError as error:
                if not statement.fails:
                    error.add_note(f"{server.name}, {name}: {statement.sql}")
                    raise
    execute(connection, "FLUSH BINARY LOGS")
    folder = FILES / f"{version.product}-{'.'.join(map(str, version.version))}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}.*[0-9]*"):
        old.unlink()
    # The last one is the log that the server has just opened.
    shown = {}
    for log, *_ in execute(connection, "SHOW BINARY LOGS")[:-1]:
        assert log is not None
        number = log.rpartition(".")[2]
        shown[number] = execute(connection, f"SHOW BINLOG EVENTS IN '{log}'")
        (folder / f"{name}.{number}").write_bytes((server.directory / "data" / log).read_bytes())
    facts = {
        "server": execute(connection, "SELECT VERSION()")[0][0],
        "show_binlog_events": shown,
        "tables": recorded_tables(partial(execute, connection)) if theme.replayed else {},
    }
    connection.close()
    for flags in theme.dumps:
        events = dumped_events(server.endpoint, f"{LOG_BASENAME}.{next(iter(shown))}", flags)
        (folder / f"{name}.dump{flags}").write_bytes(b"".join(events))
    facts_path = folder / f"{name}.json"
    facts_path.write_text(one_row_a_line(facts) + "\n")
    keep_expected_json(GoldenRecording(facts_path))


def connect(server: SqlServer) -> Connection[Cursor]:
    """Log in with a fixed clock; texts come as bytes, since some are in no character set."""
    endpoint = server.endpoint
    connection: Connection[Cursor] = pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        charset="utf8mb4",
        use_unicode=False,
        conv={},
        autocommit=True,
        local_infile=True,
    )
    execute(connection, f"SET time_zone = '+00:00', timestamp = {TIMESTAMP}, sql_mode = ''")
    return connection


def execute(connection: Connection[Cursor], sql: str) -> Rows:
    """Run a statement and return its rows; what is no UTF-8 is kept as lone surrogates."""
    # LOAD DATA LOCAL reads a file beside the SQL.
    with contextlib.chdir(SQL_FOLDER), connection.cursor() as cursor:
        cursor.execute(sql)
        rows = cast("tuple[tuple[bytes | None, ...], ...]", cursor.fetchall())
    return [
        [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in row]
        for row in rows
    ]


def one_row_a_line(facts: object, depth: int = 0) -> str:
    """Print JSON so that a difference between two recordings is a difference of lines."""
    if isinstance(facts, dict) and facts:
        inner = ",\n".join(
            f"{' ' * (depth + 1)}{json.dumps(key)}: {one_row_a_line(value, depth + 1)}"
            for key, value in facts.items()
        )
        return f"{{\n{inner}\n{' ' * depth}}}"
    if isinstance(facts, list) and any(isinstance(item, list | dict) for item in facts):
        inner = ",\n".join(f"{' ' * (depth + 1)}{json.dumps(item)}" for item in facts)
        return f"[\n{inner}\n{' ' * depth}]"
    return json.dumps(facts)


if __name__ == "__main__":
    main()
