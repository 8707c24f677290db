"""Two servers, each of which can be the source, and the addresses under which they are known."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pymysql

from tests.chaos.failure import ChaosFailure
from tests.chaos.link import End, Link
from tests.chaos.replication import ask
from tests.chaos.xa import finish_recovery, prepared, roll_back_prepared

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Endpoint, Server
    from tests.chaos.replication import Flavour

USER, PASSWORD = "cdc", "chaos"
_CATCH_UP_SECONDS = 60.0
_LOOK_SECONDS = 0.05


class Pair:
    """A source and its replica; the connector reaches them through `links`, in this order."""

    def __init__(self, flavour: Flavour, directory: Path) -> None:
        self._flavour = flavour
        self._servers = [flavour.server(directory / f"server-{n}", n) for n in (1, 2)]
        self._source = 0
        self.moves = 0  # rises when another server has become the source
        self.links: list[Link] = []
        # Ends of XA transactions that a server's recovery had left undone.
        self.finished_by_hand: list[str] = []

    def start(self) -> None:
        for server in self._servers:
            server.start()
        ask(
            self.source,
            # Neither server has what the other's making has logged.
            self._flavour.reset,
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'",
            f"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '{USER}'@'%'",
        )
        ask(self.replica, self._flavour.reset)
        self._flavour.follow(self.replica, self.source)
        self.links = [
            Link(f"source {n}", server.endpoint) for n, server in enumerate(self._servers, 1)
        ]

    def stop(self) -> None:
        for link in self.links:
            link.close()
        for server in self._servers:
            server.stop()

    @property
    def source(self) -> Endpoint:
        return self._servers[self._source].endpoint

    @property
    def replica(self) -> Endpoint:
        return self._servers[1 - self._source].endpoint

    @property
    def source_server(self) -> Server:
        return self._servers[self._source]

    @property
    def replica_server(self) -> Server:
        return self._servers[1 - self._source]

    def restart_source(self) -> None:
        """Start a source that was killed, while nobody writes; the replica connects by itself."""
        self._start_again(self.source_server)

    def restart_replica(self) -> None:
        """Start a replica that was killed, and let it go on from what it has."""
        self._start_again(self.replica_server)
        self._flavour.follow(self.replica, self.source)

    def _start_again(self, server: Server) -> None:
        """Start a server that was killed, as its own log says that it was."""
        server.start()
        if not self._flavour.recovers_xa:
            self.finished_by_hand += finish_recovery(server.endpoint)

    def roll_back_prepared(self) -> None:
        """Let nothing that writers left prepared on the source be in the way, while they wait."""
        roll_back_prepared(self.source)

    def wait_for_replica(self) -> None:
        """Wait until the replica has everything; raises ChaosFailure."""
        deadline = time.monotonic() + _CATCH_UP_SECONDS
        while not self._flavour.has_all_of(self.replica, self.source):
            if error := self._flavour.replica_error(self.replica):
                reason = f"replication of the two servers stopped: {error}"
                raise ChaosFailure(reason)
            if time.monotonic() > deadline:
                reason = (
                    f"the replica did not catch up within {_CATCH_UP_SECONDS:.0f} seconds; "
                    f"prepared there: {prepared(self.replica)}"
                )
                raise ChaosFailure(reason)
            time.sleep(_LOOK_SECONDS)

    def switch(self, *, killed: bool) -> None:
        """Make the replica the source, which nobody writes to meanwhile.

        The old source becomes the replica. If it is `killed`, it stays down until the new source
        has taken over.
        """
        flavour = self._flavour
        self.wait_for_replica()
        old, new = self.source_server, self.replica_server
        if killed:
            old.kill()
        else:
            flavour.demote(old.endpoint)
        flavour.promote(new.endpoint)
        self._source = 1 - self._source
        self.moves += 1
        if not killed:
            flavour.follow(old.endpoint, new.endpoint)

    def move_addresses(self) -> None:
        """Let each link lead to the other server, as a moved address does."""
        first, second = self.links
        first.target, second.target = second.target, first.target
        for link in self.links:
            link.cut(End.RST)

    def reset_logs(self) -> None:
        """Forget everything that the logs of both servers hold."""
        self.wait_for_replica()
        self._flavour.promote(self.replica)
        for server in (self.replica, self.source):
            ask(server, self._flavour.reset)
        self._flavour.follow(self.replica, self.source)

    def logins(self) -> list[int]:
        """Return the ids of the connector's sessions on both servers."""
        return [number for endpoint in self._up() for number in _sessions(endpoint)]

    def kill_logins(self) -> int:
        """End the connector's sessions on both servers; return how many there were."""
        killed = 0
        for endpoint in self._up():
            for number in _sessions(endpoint):
                try:
                    ask(endpoint, f"KILL {number}")
                    killed += 1
                except pymysql.err.OperationalError as error:
                    if error.args[0] != 1094:  # it has ended by itself
                        raise
        return killed

    def _up(self) -> list[Endpoint]:
        return [self.source, self.replica]


def _sessions(endpoint: Endpoint) -> list[int]:
    rows = ask(
        endpoint, f"SELECT id AS number FROM information_schema.processlist WHERE user = '{USER}'"
    )
    return [int(row["number"]) for row in rows]


def pause(pid: int, seconds: float) -> None:
    """Stop a process for a while."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
