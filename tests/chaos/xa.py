"""XA transactions that are prepared: what a server's recovery leaves undone, and who is in the way.

MariaDB's recovery looks only at its own transactions. How a user's XA transaction ended is in the
log, but InnoDB need not have written it to disk when the server is killed (it never waits for that
at XA ROLLBACK): then the transaction is prepared again, though its log, its replica and its owner
have seen the end, and its locks are in everybody's way for ever. `finish_recovery` does on such a
server what its log says, as MySQL's recovery does.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from pymysql.err import OperationalError

from tests.chaos.failure import ChaosFailure
from tests.chaos.replication import ask

if TYPE_CHECKING:
    from local_stack import Endpoint

_STEP = re.compile(r"XA (PREPARE|COMMIT|ROLLBACK) X'([0-9a-f]*)',X'',1$")
_PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
# XAER_NOTA: its own session is still there, or has ended it.
_NOT_OURS = 1397


def prepared(server: Endpoint) -> list[str]:
    """Return the names of the transactions that are prepared."""
    return [name_of(row["data"]) for row in ask(server, "XA RECOVER")]


def name_of(data: str | bytes) -> str:
    """Return the name in a row of XA RECOVER: MariaDB's are bytes."""
    return data.decode() if isinstance(data, bytes) else data


def finish_recovery(server: Endpoint) -> list[str]:
    """Let each prepared transaction end as the server's log says; return what was done.

    The server was started after it was killed; nobody writes to it, and it does not replicate. Of
    a transaction that the log does not know, nobody else knows: it is rolled back. What is only
    prepared in the log, too, stays. The log tells all of it already: none of this is logged.
    """
    names = prepared(server)
    if not names:
        return []
    steps = _last_steps(server)
    ends = [(name, steps.get(name, "ROLLBACK")) for name in names]
    statements = [f"XA {step} '{name}'" for name, step in ends if step != "PREPARE"]
    ask(server, "SET SESSION sql_log_bin = 0", *statements)
    return statements


def roll_back_prepared(server: Endpoint) -> None:
    """Roll back, in the log as well, what writers left prepared, while they are held.

    They learn it by their rows of `book`. Raises ChaosFailure when a transaction does not end.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while names := prepared(server):
        for name in names:
            try:
                ask(server, f"XA ROLLBACK '{name}'")
            except OperationalError as error:
                if error.args[0] != _NOT_OURS:
                    raise
        if time.monotonic() > deadline:
            reason = f"XA transactions that do not end on the source: {', '.join(names)}"
            raise ChaosFailure(reason)
        time.sleep(_LOOK_SECONDS)


def _last_steps(server: Endpoint) -> dict[str, str]:
    """Return the last word of the server's log on each transaction, by name."""
    steps = {}
    for log in ask(server, "SHOW BINARY LOGS"):
        for event in ask(server, f"SHOW BINLOG EVENTS IN '{log['Log_name']}'"):
            if step := _STEP.search(event["Info"]):
                steps[bytes.fromhex(step[2]).decode()] = step[1]
    return steps
