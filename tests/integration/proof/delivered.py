"""Streams that were delivered, and their proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.foundation.settings.configuration import load_settings
from connector.stream.sink.recovery import read_progress
from local_stack import connect
from tests import forked_command
from tests.integration.harness import wait_until, wait_until_settled
from verification.topics.run import compare_topics

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess
    from verification.topics.outcome import Outcome

ORDERS = "CREATE TABLE orders (id INT PRIMARY KEY, v VARCHAR(40)) ENGINE=InnoDB"
LINES = "CREATE TABLE order_lines (a INT, b INT, c DECIMAL(9,2), PRIMARY KEY (a, b)) ENGINE=InnoDB"
NO_KEY = "CREATE TABLE log_lines (t TEXT) ENGINE=InnoDB"
HALVES = "CREATE TABLE halves (number INT, line INT) ENGINE=InnoDB"
NOTES = "CREATE TABLE notes (id INT PRIMARY KEY, t TEXT) ENGINE=InnoDB"


@dataclass(frozen=True)
class Delivered:
    """A stream that was delivered."""

    stream: Stream
    config: Path
    # Before each transaction of the table `halves`, and after the last: position, GTIDs.
    marks: list[tuple[str, str]]


def proven(config: Path, first: str | None = None, until: str | None = None) -> Outcome:
    """Return the outcome of `verify --topics`."""
    return compare_topics(load_settings(config), first, until)


def verify(config: Path, *arguments: str) -> tuple[int, str]:
    """Run `verify --topics`; return the exit code and what it has printed."""
    done = forked_command.run("verify", str(config), "--topics", *arguments)
    return done.returncode, done.stdout + done.stderr


def write_some(stream: Stream, first: int, count: int) -> None:
    """Insert, change, move and delete rows of three tables."""
    for number in range(first, first + count):
        stream.transaction(
            f"INSERT INTO orders VALUES ({number}, 'v{number}'), ({number + 5000}, 'w')",
            f"INSERT INTO order_lines VALUES ({number}, 1, 1.5), ({number}, 2, 2.5)",
            f"UPDATE orders SET v = 'changed' WHERE id = {number}",
            f"UPDATE order_lines SET b = b + 10 WHERE a = {number}",
            f"DELETE FROM orders WHERE id = {number + 5000}",
            f"INSERT INTO log_lines VALUES ('line {number}')",
        )


def log_end(stream: Stream) -> tuple[str, int]:
    """Return the end of the source's log."""
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW MASTER STATUS")
        (status,) = cursor.fetchall()
    return str(status[0]), int(str(status[1]))


def wait_until_delivered(stream: Stream, config: Path, connector: ConnectorProcess) -> None:
    """Wait until the last transaction so far is committed in Kafka."""
    end = log_end(stream)
    settings = load_settings(config)

    def is_delivered() -> bool:
        progress = read_progress(settings.kafka, settings.name)
        return progress is not None and (progress.file, progress.position) >= end

    wait_until(is_delivered, lambda: f"{end} is not delivered\n{connector.output()}")
    wait_until_settled(stream.broker, stream.prefix)
