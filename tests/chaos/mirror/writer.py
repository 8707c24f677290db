"""A thread that changes tables until it is stopped, whatever becomes of the server."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pymysql

from local_stack import connect
from tests.chaos.mirror.tables import is_lost

if TYPE_CHECKING:
    from random import Random

    from local_stack import Server
    from tests.chaos.gate import Gate
    from tests.chaos.mirror.tables import Changing

# About 40 transactions a second.
_PAUSE_SECONDS: Final = 0.02
_LOST_SECONDS: Final = 0.3


class Writer:
    """One session; the gate can hold it between two steps."""

    def __init__(self, server: Server, tables: list[Changing], chance: Random, gate: Gate) -> None:
        self.error: Exception | None = None
        self._server = server
        self._tables = tables
        self._chance = chance
        self._gate = gate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current step."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._session()
        except Exception as error:  # noqa: BLE001 # the run looks at it
            self.error = error

    def _session(self) -> None:
        try:
            with (
                closing(connect(self._server.endpoint)) as connection,
                connection.cursor() as cursor,
            ):
                while not self._stop.wait(self._chance.expovariate(1 / _PAUSE_SECONDS)):
                    with self._gate.passing():
                        self._chance.choice(self._tables).step(cursor)
        except (pymysql.err.MySQLError, OSError) as error:
            if not is_lost(error):
                raise
            self._stop.wait(_LOST_SECONDS)
