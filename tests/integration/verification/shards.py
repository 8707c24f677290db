"""`python -m tests.integration.verification.shards`: shards in one mirror while ALTERs roll over.

Each shard is a database with the same tables. All are changed all the time. Meanwhile, each shard
in turn gets a column with a default, a wider type, a truncate, and loses a column. In the end,
`verify` compares each shard with the source, in Delta and in Iceberg.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_stack import KafkaBroker, MysqlServer, connect
from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until_settled
from tests.integration.verification.pair import pair_of

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair

_KEYS: Final = 200
# What a release does to the tables of a shard.
_ALTERS: Final = (
    "ALTER TABLE {table} ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'old'",
    "ALTER TABLE {table} MODIFY COLUMN amount BIGINT",
    "ALTER TABLE {table} DROP COLUMN gone",
)


def mirror_of(stream: Stream, **choices: Any) -> dict[str, Any]:
    """Return the settings by which the databases of a stream share a mirror."""
    pattern = rf"{stream.database}_(?P<shard>\w+)\..+"
    return {
        "match": [f"{stream.database}_*.*"],
        "name": stream.database + ".{table}",
        "shard": {"column": "shard", "pattern": pattern},
        **choices,
    }


def create(stream: Stream, shards: int, tables: int) -> list[str]:
    """Create the tables of all shards; return their names."""
    names = []
    for shard in range(shards):
        database = f"{stream.database}_{shard}"
        stream.execute(f"CREATE DATABASE {database}")
        for table in range(tables):
            names.append(f"{database}.t{table}")
            stream.execute(
                f"CREATE TABLE {names[-1]} (id INT PRIMARY KEY, amount INT, gone INT DEFAULT 3)"
            )
    return names


class Load(threading.Thread):
    """Changes all tables, as fast as one session can with a pause."""

    def __init__(self, stream: Stream, names: list[str], pause_seconds: float) -> None:
        super().__init__()
        self.ended = threading.Event()
        self.changes = 0
        self._stream = stream
        self._names = names
        self._pause_seconds = pause_seconds

    def run(self) -> None:
        """Go on until `ended` is set."""
        dice = random.Random(1)
        with connect(self._stream.source) as connection, connection.cursor() as cursor:
            while not self.ended.wait(self._pause_seconds):
                table, key, amount = dice.choice(self._names), dice.randrange(_KEYS), dice.random()
                if amount < 0.2:
                    cursor.execute(f"DELETE FROM {table} WHERE id = {key}")
                else:
                    cursor.execute(
                        f"INSERT INTO {table} (id, amount) VALUES ({key}, {int(amount * 1e6)}) "
                        "ON DUPLICATE KEY UPDATE amount = VALUES(amount)"
                    )
                self.changes += 1


def roll(stream: Stream, shards: int, tables: int, pause_seconds: float) -> None:
    """Let each shard in turn have the new columns, and lose the rows of one table."""
    for shard in range(shards):
        for table in range(tables):
            name = f"{stream.database}_{shard}.t{table}"
            stream.execute(*(alter.format(table=name) for alter in _ALTERS))
            stream.execute(f"UPDATE {name} SET amount = amount + 3000000000 LIMIT 3")
        stream.execute(f"TRUNCATE TABLE {stream.database}_{shard}.t0")
        time.sleep(pause_seconds)


def compared(pair: Pair) -> dict[str, Any]:
    """Return the report of `verify`, once everything is applied."""
    wait_until_settled(pair.stream.broker, pair.stream.prefix)
    with pair.applying():
        code, report = pair.report()
    assert code == 0, report
    return report


def main() -> None:
    """Run the whole, and print figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--roll-seconds", type=float, default=2.0, help="between two shards")
    parser.add_argument("--pause-seconds", type=float, default=0.005, help="between two changes")
    parser.add_argument("--mode", default="current")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        MysqlServer(Path(folder) / "mysql") as server,
        KafkaBroker(Path(folder) / "kafka") as broker,
    ):
        stream = new_stream(server.endpoint, broker.endpoint, Path(folder))
        names = create(stream, options.shards, options.tables)
        settings = mirror_of(stream, mode=options.mode, formats=["delta", "iceberg"])
        followed = [f"{stream.database}_*.*"]
        with pair_of(stream, [settings], source__tables=followed) as pair:
            load = Load(stream, names, options.pause_seconds)
            began = time.monotonic()
            load.start()
            try:
                with pair.applying():
                    roll(stream, options.shards, options.tables, options.roll_seconds)
            finally:
                load.ended.set()
                load.join()
            seconds = time.monotonic() - began
            report = compared(pair)
        figures = {
            "changes": load.changes,
            "seconds": round(seconds, 1),
            "tables compared": report["summary"]["tables"],
            "equal": report["summary"]["equal"],
            "rows": report["summary"]["rows"],
            "iceberg equal": sum(
                not (each["iceberg"]["defects"] or each["iceberg"]["differences"])
                for each in report["tables"]
                if each["iceberg"] is not None and each["iceberg"]["version"] is not None
            ),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
