"""`python -m tests.integration.verification.certificates`: certificates of tables that change.

Several sessions insert, update, move and delete rows of two tables, and a job brings the changes
into the mirror. Each certificate that is made meanwhile must have both tables, and each must hold
when it is computed again from the mirror's versions.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from tests.integration.database_stream import new_stream
from tests.integration.verification.pair import pair_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair

_ROWS: Final = 50_000
_TABLES: Final = ("changing", "counted")
_STATEMENTS: Final = (
    "UPDATE changing SET n = n + 1 WHERE id = {key}",
    "DELETE FROM changing WHERE id = {key}",
    "REPLACE INTO changing VALUES ({key}, 0, 'again')",
    "UPDATE IGNORE changing SET id = id + 100000 WHERE id = {key}",
    "UPDATE counted SET n = n + 1 WHERE n = {key} LIMIT 1",
)


class Writers:
    """Sessions that change rows, at so many transactions a second together."""

    def __init__(self, stream: Stream, sessions: int, rate: float) -> None:
        self._stream = stream
        self._pause = sessions / rate
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(sessions)]
        self.transactions = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Go on for the length of a block."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()

    def _write(self, seed: int) -> None:
        dice = random.Random(seed)
        with (
            connect(self._stream.source, self._stream.database) as connection,
            connection.cursor() as cursor,
        ):
            due = time.monotonic()
            while not self._ended.wait(max(0.0, due - time.monotonic())):
                due += self._pause
                cursor.execute(dice.choice(_STATEMENTS).format(key=dice.randrange(_ROWS)))
                self.transactions += 1


def fill(stream: Stream) -> None:
    """Make the tables; one has no key."""
    numbers = ", ".join(f"({number}, 0, MD5({number}))" for number in range(_ROWS))
    stream.execute(
        "CREATE TABLE changing (id INT PRIMARY KEY, n INT, text VARCHAR(40))",
        "CREATE TABLE counted (n INT, KEY (n))",
        f"INSERT INTO changing VALUES {numbers}",
        "INSERT INTO counted SELECT id FROM changing",
    )


def made_and_checked(pair: Pair, path: Path) -> dict[str, Any]:
    """Make a certificate, and compute it again; return it."""
    made = pair.verify("--certificate", str(path))
    checked = pair.run("verify", "--check", str(path))
    assert (made.returncode, checked.returncode) == (0, 0), made.stdout + checked.stdout
    certificate: dict[str, Any] = json.loads(path.read_text())["certificate"]
    assert len(certificate["tables"]) == len(_TABLES), certificate["left_out"]
    return certificate


def main() -> None:
    """Make certificates, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="certificates that are made")
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--rate", type=float, default=200.0, help="transactions a second, wanted")
    parser.add_argument("--flavour", choices=["mysql", "mariadb"], default="mysql")
    arguments = parser.parse_args()
    kind = MysqlServer if arguments.flavour == "mysql" else MariadbServer
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(kind(folder / "source"))
        broker = stack.enter_context(KafkaBroker(folder / "kafka"))
        stream = new_stream(server.endpoint, broker.endpoint, folder)
        fill(stream)
        modes = [{"match": ["*.counted"], "mode": "rows"}]
        pair = stack.enter_context(pair_of(stream, modes))
        pair.catch_up(2 * _ROWS)
        writers = Writers(stream, arguments.sessions, arguments.rate)
        began, taken_back, gtid_sets = time.monotonic(), 0, set()
        with writers.writing(), pair.applying():
            for number in range(arguments.rounds):
                found = made_and_checked(pair, folder / f"{number}.json")
                taken_back += sum(table["changes_taken_back"] for table in found["tables"])
                gtid_sets.add(found["source"]["gtid_set"])
        rate = writers.transactions / (time.monotonic() - began)
    print(
        f"{arguments.rounds} certificates at {len(gtid_sets)} GTID sets, {taken_back:,} changes "
        f"taken back, at {rate:.0f} transactions a second: all equal, and equal again"
    )


if __name__ == "__main__":
    main()
