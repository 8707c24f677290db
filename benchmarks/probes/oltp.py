"""`python oltp.py HOST:PORT RATE`: short statements at a fixed rate, until SIGTERM.

Three of four read a row by its key, the others change one; each commits itself. Several threads
take turns, so that one slow statement does not keep the next ones back. Prints a line for each
statement: when it was due, in seconds of the monotonic clock, and how many microseconds its answer
took from then on. A statement that had to wait for its turn has waited, too.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
from collections import deque
from itertools import cycle

import pymysql

THREADS = 4
ROWS = 100_000
DATABASE = "oltp"
# It has no password.
USER = "app"
# Three reads, and one write.
_STATEMENTS = (
    *("SELECT name, balance FROM account WHERE id = %s",) * 3,
    "UPDATE account SET balance = balance + 1 WHERE id = %s",
)


class Client(threading.Thread):
    """One connection of the application."""

    def __init__(self, address: str, number: int, rate: float) -> None:
        super().__init__(daemon=True)
        host, _, port = address.rpartition(":")
        self._connection = pymysql.connect(
            host=host, port=int(port), user=USER, database=DATABASE, autocommit=True
        )
        self._dice = random.Random(number)
        self._period = THREADS / rate
        self._due = time.monotonic() + number / rate
        self.answers: deque[tuple[float, float]] = deque()

    def run(self) -> None:
        """Send a statement when it is due."""
        with self._connection, self._connection.cursor() as cursor:
            for statement in cycle(_STATEMENTS):
                time.sleep(max(0.0, self._due - time.monotonic()))
                cursor.execute(statement, (self._dice.randrange(ROWS) + 1,))
                cursor.fetchall()
                self.answers.append((self._due, time.monotonic() - self._due))
                self._due += self._period


def main() -> None:
    """Run the threads, and print what they have measured at the end."""
    # Threads take over that it is blocked, so that it waits for this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    # What the threads measure is the server, not this process.
    gc.disable()
    sys.setswitchinterval(0.0005)
    clients = [Client(sys.argv[1], number, float(sys.argv[2])) for number in range(THREADS)]
    for client in clients:
        client.start()
    signal.sigwait({signal.SIGTERM})
    answers = [answer for client in clients for answer in list(client.answers)]
    sys.stdout.writelines(f"{due:.4f} {took * 1e6:.0f}\n" for due, took in sorted(answers))


if __name__ == "__main__":
    main()
