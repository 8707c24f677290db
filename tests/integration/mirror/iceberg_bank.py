"""Transfers between two tables, and a process that mirrors them, for proofs of the Iceberg side.

Each account has a row in both tables, and both rows together always have the same amount.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.publication_thread import publishing
from stream_jobs.source.client import KafkaClient
from tests.integration.mirror.conftest import follow_topics, make_settings, run_in_process
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Mapping


ACCOUNTS: Final = 20
# What both rows of an account have together.
TOTAL: Final = 200
TABLES: Final = ("savings", "wallet")
PREFIX: Final = "bank"
_EVERY_SECONDS: Final = 0.2
_PAUSE_SECONDS: Final = 0.02


class Bank(threading.Thread):
    """Moves money between the tables until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        """Publish the tables."""
        super().__init__(daemon=True)
        self._kafka = Kafka(bootstrap, PREFIX)
        columns = (column("id", "int", key=1), column("amount", "int"))
        self._tables = [SourceTable(self._kafka, name, columns).create() for name in TABLES]
        self._dice = random.Random(3)
        self._savings = [TOTAL // 2] * ACCOUNTS
        self._stopped = threading.Event()
        self.transfers = 0
        with self._kafka.transaction():
            for account in range(ACCOUNTS):
                for table in self._tables:
                    table.send("c", None, {"id": account, "amount": TOTAL // 2})
            self._kafka.progress()

    def run(self) -> None:
        """Transfer, several accounts in a transaction."""
        while not self._stopped.wait(_PAUSE_SECONDS):
            with self._kafka.transaction():
                for account in self._dice.sample(range(ACCOUNTS), 5):
                    before, after = self._savings[account], self._dice.randint(0, TOTAL)
                    self._savings[account] = after
                    for table, old, new in zip(
                        self._tables, (before, TOTAL - before), (after, TOTAL - after), strict=True
                    ):
                        row = {"id": account}
                        table.send("u", row | {"amount": old}, row | {"amount": new})
                self._kafka.progress()
            self.transfers += 1

    def stop(self) -> dict[str, list[tuple[int, int]]]:
        """End, and return the rows that each table has in the end."""
        self._stopped.set()
        self.join()
        self._kafka.settle()
        self._kafka.close()
        return {
            "savings": list(enumerate(self._savings)),
            "wallet": [(number, TOTAL - own) for number, own in enumerate(self._savings)],
        }


def start_mirror(
    bootstrap: str, folder: Path, sections: Mapping[str, Any], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process that mirrors the bank into `folder`; it ends when its input does."""
    given = json.dumps({"bootstrap": bootstrap, "folder": str(folder), "sections": sections})
    with (folder / "mirror.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", __spec__.name, given],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )


def _mirror(bootstrap: str, folder: Path, sections: dict[str, Any]) -> None:
    """Apply batches, and publish beside them, until the input ends."""
    settings = make_settings(bootstrap, PREFIX, folder, **sections)
    client = KafkaClient(settings.kafka.facts())
    applier = batch_applier(settings, client, run_in_process, lambda: 2)
    assert applier.iceberg is not None
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    tell = traceback.print_exception
    with publishing(applier.iceberg, _EVERY_SECONDS, lambda: None, tell):
        follow_topics(settings, applier, ended)
    client.close()


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    _mirror(told["bootstrap"], Path(told["folder"]), told["sections"])
