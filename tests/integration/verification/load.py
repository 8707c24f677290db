"""Changes of a table that go on while it is compared."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from local_stack import connect
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.integration.verification.pair import Pair

# Each change is sent, applied and compared: a load that never pauses takes all of the machine.
PAUSE_SECONDS = length(short=20, full=4) / 1000


@contextmanager
def changing(pair: Pair, statements: Callable[[random.Random], Sequence[str]]) -> Iterator[None]:
    """Run statements all the time, each a transaction, and bring the changes into the mirror."""
    ended = threading.Event()

    def change() -> None:
        random_ = random.Random(7)
        stream = pair.stream
        with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
            while not ended.wait(PAUSE_SECONDS):
                for statement in statements(random_):
                    cursor.execute(statement)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        with pair.applying():
            yield
    finally:
        ended.set()
        thread.join()
