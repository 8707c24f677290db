"""`python -m benchmarks.workload.stamps PORT USER PASSWORD RATE SECONDS`: rows with their time.

One-row transactions over five tables, at an even rate: inserts, and updates of earlier rows. Each
row has the time just before its statement was sent, in microseconds. Prints what was sent, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time

from benchmarks.workload.session import Session
from local_stack import Endpoint
from local_stack.server import HOST

DATABASE = "stamps"
TABLES = tuple(f"t{number}" for number in range(5))
# Statements in one packet at most.
_PACKET = 5
_INSERTS = 0.5


def main() -> None:
    """Send until the time is over."""
    port, user, password, rate_text, seconds_text = sys.argv[1:]
    rate, seconds = float(rate_text), float(seconds_text)
    session = Session(Endpoint(HOST, int(port), user, password))
    dice = random.Random(5)
    first = time.time_ns() // 1000  # keys of its own in every run
    keys = dict.fromkeys(TABLES, first)
    sent, begun = 0, time.monotonic()
    while (elapsed := time.monotonic() - begun) < seconds:
        due = min(_PACKET, int(elapsed * rate) + 1 - sent)
        if due <= 0:
            time.sleep(max(0.0, sent / rate - elapsed))
            continue
        statements = []
        for _ in range(due):
            table = dice.choice(TABLES)
            now = time.time_ns() // 1000
            if keys[table] == first or dice.random() < _INSERTS:
                row = f"({keys[table]},{now},{dice.random() * 1000:.2f},'leave at the door')"
                statements.append(f"INSERT INTO {DATABASE}.{table} VALUES {row}")
                keys[table] += 1
            else:
                key = dice.randrange(first, keys[table])
                statements.append(
                    f"UPDATE {DATABASE}.{table} SET sent_at={now}, amount=amount+1 WHERE id={key}"
                )
        session.execute(*statements)
        sent += due
    session.close()
    print(json.dumps({"sent": sent, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
