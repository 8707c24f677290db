"""`python -m tests.integration.mirror.iceberg_deaths`: kills, while a reader opens the tables.

The mirror, its storage (S3) and its catalog (REST) are killed at random moments; SeaweedFS is both
servers. A reader opens both tables all the while, by their paths and by their names. While a server
is away, nobody can read: only what an answering server says counts. In the end, all readers must
have the rows of the source.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import StaticTable

from local_stack import KafkaBroker
from tests.integration.mirror.iceberg_bank import TABLES, Bank, start_mirror
from tests.stream_jobs.catalog_server import KEY, SECRET, WAREHOUSE, CatalogServer, RestartedCatalog
from tests.stream_jobs.iceberg.readers import Rows, sorted_rows

if TYPE_CHECKING:
    import subprocess

_ROOT: Final = "s3://plain/mirror"
# A job needs some seconds to start; shorter pauses let it do nothing at all.
_PAUSE_SECONDS: Final = (1.0, 16.0)
_AWAY_SECONDS: Final = (0.0, 1.5)
_EQUAL_SECONDS: Final = 120.0
_START_SECONDS: Final = 10.0
# What the storage answers if it does not find a file that it has.
_INTERNAL: Final = "INTERNAL_FAILURE"


class Looker(threading.Thread):
    """Opens the tables until it is stopped, and counts."""

    def __init__(self, server: RestartedCatalog) -> None:
        """Read from `server`, which may be killed meanwhile."""
        super().__init__(daemon=True)
        self._server = server
        self._stopped = threading.Event()
        self._known: set[str] = set()
        self.seen: Counter[str] = Counter()
        self.problems: list[str] = []

    def run(self) -> None:
        """Open each table in each way, again and again."""
        while not self._stopped.is_set():
            for name in TABLES:
                for how in ("by path", "in the catalog"):
                    self._look(name, how)

    def _look(self, name: str, how: str) -> None:
        before = self._server.kills
        try:
            _rows(self._server.now, name, how)
        except Exception as error:  # noqa: BLE001 - each layer of a reader has errors of its own
            if self._server.kills != before or self._server.is_away:
                self.seen["while the server was away"] += 1
            elif f"{name} {how}" not in self._known:
                pass
            elif _INTERNAL in str(error) and self._opens_soon(name, how, before):
                self.seen["after an error inside the server"] += 1
            else:
                self.problems.append(f"{name} {how}: {type(error).__name__}: {error}")
            return
        self._known.add(f"{name} {how}")
        self.seen[how] += 1

    def _opens_soon(self, name: str, how: str, kills: int) -> bool:
        """Return whether a server that has just started opens a table that it could not read.

        It answers before it finds all files again.
        """
        ends_at = time.monotonic() + _START_SECONDS
        while self._server.kills == kills and time.monotonic() < ends_at:
            with suppress(Exception):
                _rows(self._server.now, name, how)
                return True
            time.sleep(0.2)
        return self._server.kills != kills

    def wait_for_all(self) -> None:
        """Wait until each table has been opened in each way; raises TimeoutError."""
        ends_at = time.monotonic() + _EQUAL_SECONDS
        while len(self._known) < 2 * len(TABLES):
            if time.monotonic() > ends_at:
                reason = f"only {sorted(self._known)} could be opened"
                raise TimeoutError(reason)
            time.sleep(0.2)

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        self.join()


def _options(server: CatalogServer) -> dict[str, str]:
    return {
        "s3.endpoint": server.s3,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }


def _rows(server: CatalogServer, name: str, how: str) -> Rows:
    """Return the rows of a table; how is `by path`, `in the catalog`, or `Delta`."""
    if how == "Delta":
        options = {**server.variables, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        table = DeltaTable(f"{_ROOT}/shop/{name}", storage_options=options)
        found = QueryBuilder().register("t", table).execute("select id, amount from t")
        return sorted_rows(pa.table(found))
    if how == "by path":
        folder = f"{_ROOT}/_iceberg/shop/{name}"
        table_ = StaticTable.from_metadata(folder, _options(server))
        return sorted_rows(table_.scan(selected_fields=("id", "amount")).to_arrow())
    options = _options(server)
    catalog = RestCatalog(
        "own", uri=server.url, warehouse=WAREHOUSE, token=server.token(), **options
    )
    catalog.properties |= options
    scan = catalog.load_table(("bank", name)).scan(selected_fields=("id", "amount"))
    return sorted_rows(scan.to_arrow())


def _sections(server: CatalogServer) -> dict[str, Any]:
    catalog = {
        "catalog": server.url,
        "warehouse": WAREHOUSE,
        "namespace": "bank",
        "client_id": KEY,
        "client_secret": SECRET,
    }
    mirror = {"path": _ROOT, "formats": ["delta", "iceberg"]}
    return {"mirror": mirror, "iceberg": catalog}


class Mirror:
    """The process of the mirror, which is started again whenever it ends."""

    def __init__(self, bootstrap: str, folder: Path, server: RestartedCatalog) -> None:
        """Mirror the bank to `server`."""
        self._given = (bootstrap, folder, _sections(server.now))
        self._environment = os.environ | server.now.variables
        self.starts = 0
        self.start()

    def start(self) -> None:
        """Start it."""
        self.starts += 1
        self.process: subprocess.Popen[bytes] = start_mirror(*self._given, self._environment)

    def kill(self) -> None:
        """End it as the kernel would."""
        self.process.kill()
        self.process.wait()

    def watch(self) -> None:
        """Start it again if it has ended by itself, as it may where its storage is away."""
        if self.process.poll() is not None:
            time.sleep(0.5)
            self.start()


def _strike(
    mirror: Mirror, server: RestartedCatalog, kills: int, until: float, dice: random.Random
) -> Counter[str]:
    """Kill at random moments; return how often what was killed."""
    struck: Counter[str] = Counter()
    while struck.total() < kills and time.monotonic() < until:
        ends_at = time.monotonic() + dice.uniform(*_PAUSE_SECONDS)
        while time.monotonic() < ends_at:
            mirror.watch()
            time.sleep(0.1)
        if dice.random() < 1 / 2:
            struck["the job"] += 1
            mirror.kill()
            mirror.start()
        else:
            struck["storage and catalog"] += 1
            server.kill()
            time.sleep(dice.uniform(*_AWAY_SECONDS))
            server.start()
        if struck.total() % 10 == 0:
            print(f"{struck.total()} of {kills} kills", file=sys.stderr, flush=True)
    return struck


def _differences(mirror: Mirror, server: RestartedCatalog, wanted: dict[str, Any]) -> list[str]:
    """Wait until all readers have the rows of the source; return what differs after minutes."""
    ends_at = time.monotonic() + _EQUAL_SECONDS
    while True:
        mirror.watch()
        wrong = []
        for name, rows in wanted.items():
            for how in ("Delta", "by path", "in the catalog"):
                try:
                    if _rows(server.now, name, how) != sorted(rows, key=repr):
                        wrong.append(f"{name} {how} has other rows")
                except (NoSuchTableError, DeltaError, OSError, ValueError) as error:
                    wrong.append(f"{name} {how}: {error}")
        if not wrong or time.monotonic() > ends_at:
            return wrong
        time.sleep(1.0)


def run(directory: Path, kills: int, seconds: float, seed: int) -> list[str]:
    """Return what was wrong, and print what was done."""
    (directory / "weed").mkdir()
    with (
        KafkaBroker(directory / "kafka") as broker,
        RestartedCatalog(directory / "weed") as server,
    ):
        bank = Bank(broker.endpoint.bootstrap)
        mirror = Mirror(broker.endpoint.bootstrap, directory, server)
        looker = Looker(server)
        try:
            bank.start()
            looker.start()
            looker.wait_for_all()
            until = time.monotonic() + seconds
            struck = _strike(mirror, server, kills, until, random.Random(seed))
            wanted = bank.stop()
            wrong = _differences(mirror, server, wanted)
            looker.stop()
        finally:
            mirror.kill()
    print(f"kills: {dict(struck)}; {mirror.starts} starts of the job; {bank.transfers:,} transfers")
    print(f"tables opened: {dict(looker.seen)}; not opened: {len(looker.problems)}")
    return [*looker.problems[:20], *wrong]


def main() -> int:
    """Run, and return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=6 * 3600.0, help="at most")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iceberg-deaths-") as name:
        wrong = run(Path(name), arguments.kills, arguments.seconds, arguments.seed)
    print("\n".join(wrong) or "all readers have the rows of the source")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
