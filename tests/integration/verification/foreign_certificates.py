"""`python -m tests.integration.verification.foreign_certificates`: the moments of certificates.

Four sessions change the rows of a table all the time. Another program writes them into a Delta
table, as they were at a GTID set that it knows and nobody tells the command. Each certificate must
name this set, and must hold when the version is computed again.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from connector.replication.server.addresses import source_settings
from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.test_foreign_certificate import (
    DEFINITION,
    CertifiedTable,
    typed,
)
from verification.certificate.check import check_tables
from verification.certificate.foreign_run import ForeignCertification
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.table_choice import read_choice
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint

_ROWS: Final = 6000
_SESSIONS: Final = 4
_STATEMENTS: Final = (
    "UPDATE orders SET price = price + 1, note = UUID() WHERE id = {key}",
    "DELETE FROM orders WHERE id = {key}",
    "REPLACE INTO orders (id, price) VALUES ({key}, 3)",
    "UPDATE IGNORE orders SET id = id + 10000 WHERE id = {key}",
    "UPDATE orders SET note = UUID() WHERE id BETWEEN {key} AND {key} + 20 ORDER BY id",
)


@contextmanager
def changing(endpoint: Endpoint, database: str, rate: float) -> Iterator[list[int]]:
    """Change rows at so many transactions a second; yield how many there were, by sessions."""
    ended, counts = threading.Event(), [0] * _SESSIONS

    def change(number: int) -> None:
        dice = random.Random(number)
        with connect(endpoint, database) as connection, connection.cursor() as cursor:
            due = time.monotonic()
            while not ended.wait(max(0.0, due - time.monotonic())):
                due += _SESSIONS / rate
                cursor.execute(dice.choice(_STATEMENTS).format(key=dice.randrange(_ROWS)))
                counts[number] += 1

    threads = [threading.Thread(target=change, args=(n,)) for n in range(_SESSIONS)]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def write_version(table: CertifiedTable) -> str:
    """Write the rows of one moment as a version that lags up to two seconds; return its set."""
    with connect(table.endpoint, table.database) as locked, locked.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        moment, rows = table.gtid_set(), table.rows()
    time.sleep(random.uniform(0, 2))
    foreign_tables.write(table.path, typed([{**row, "weight": None} for row in rows]))
    return moment


def certified_moment(table: CertifiedTable) -> tuple[str | None, int]:
    """Return the moment of a certificate that holds, and how many changes were taken back."""
    run = ForeignCertification(source_settings(table.url), ForeignLimits())
    choice = read_choice(f"{table.database}.orders=delta:{table.path}")
    (result,) = run.results([choice], RunProgress())
    certificate = run.certificate()
    assert certificate is not None, run.outcome(result.name, result.target)
    (checked,) = check_tables(certificate, RunProgress())
    assert (result.verdict, checked.verdict) == ("equal", "equal")
    (own,) = certificate.tables
    return own.moment.gtid_set, own.changes_taken_back


def main() -> None:
    """Make certificates, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="certificates that are made")
    parser.add_argument("--rate", type=float, default=300.0, help="transactions a second, wanted")
    parser.add_argument("--flavour", choices=["mysql", "mariadb"], default="mysql")
    arguments = parser.parse_args()
    kind = MysqlServer if arguments.flavour == "mysql" else MariadbServer
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(kind(folder / "source"))
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
        table = CertifiedTable(server.endpoint, "shop", folder / "orders")
        table.execute(
            DEFINITION.replace(", weight DOUBLE", ""),
            "INSERT INTO orders (id, note) VALUES "
            + ", ".join(f"({number}, MD5({number}))" for number in range(_ROWS)),
        )
        began, changes = time.monotonic(), 0
        with changing(table.endpoint, table.database, arguments.rate) as counts:
            for _ in range(arguments.rounds):
                moment = write_version(table)
                found, taken_back = certified_moment(table)
                assert found == moment, (found, moment)
                changes += taken_back
        rate = sum(counts) / (time.monotonic() - began)
    print(
        f"{arguments.rounds} certificates, each of the GTID set that its version was written at: "
        f"{changes:,} changes taken back, at {rate:.0f} transactions a second"
    )


if __name__ == "__main__":
    main()
