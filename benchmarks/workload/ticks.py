"""`python -m benchmarks.workload.ticks PORT USER PASSWORD RATE SECONDS`: one-row transactions.

At an even rate, or with RATE 0 as fast as the server commits. Each row's note is `t=` and the time
just before its statement was sent, in microseconds. Prints what was sent, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.workload.rows import Rows
from benchmarks.workload.session import Session
from local_stack import Endpoint
from local_stack.server import HOST

# Statements in one packet at most.
_PACKET = 20
_VARIANTS = 1000


def main() -> None:
    """Send until the time is over, or until the process is ended."""
    port, user, password, rate_text, seconds_text = sys.argv[1:]
    rate, seconds = float(rate_text), float(seconds_text)
    session = Session(Endpoint(HOST, int(port), user, password))
    rows = Rows(5)
    # Everything between the key and the note.
    middles = [row[row.index(",") : row.rindex(",")] for row in map(rows.order, range(_VARIANTS))]
    key = time.time_ns() // 1000  # of its own in every run
    sent, begun = 0, time.monotonic()
    while (elapsed := time.monotonic() - begun) < seconds:
        due = min(_PACKET, int(elapsed * rate) + 1 - sent) if rate else _PACKET
        if due <= 0:
            time.sleep(max(0.0, sent / rate - elapsed))
            continue
        now = time.time_ns() // 1000
        session.execute(
            *(
                f"INSERT INTO live.orders VALUES ({key + sent + number}"
                f"{middles[(sent + number) % _VARIANTS]},'t={now}')"
                for number in range(due)
            )
        )
        sent += due
    session.close()
    print(json.dumps({"sent": sent, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
