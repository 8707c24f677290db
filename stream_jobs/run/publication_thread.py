"""When tables are published to Iceberg: every few seconds, beside the batches of the job."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from stream_jobs.run.iceberg_publication import IcebergPublication

# Turns begin at least this part of the interval after each other.
_LEAST_PERIOD: Final = 0.9


@contextmanager
def publishing(
    publication: IcebergPublication,
    every_seconds: float,
    after: Callable[[], None],
    tell: Callable[[Exception], None],
) -> Iterator[None]:
    """Publish every few seconds in a thread, and once at the end, if that is no error.

    `after` is called each time. What ends a turn is told, once until a turn succeeds: the mirror
    goes on, and so do the next turns.
    """
    stop, is_well = threading.Event(), False

    def run() -> None:
        pause, is_told = every_seconds, False
        while not stop.wait(pause):
            began = time.monotonic()
            try:
                publication.publish()
                after()
                is_told = False
            except Exception as error:  # noqa: BLE001 - the thread of all tables would end
                if not is_told:
                    tell(error)
                is_told = True
            pause = pause_seconds(every_seconds, time.monotonic() - began)

    thread = threading.Thread(target=run, name="iceberg", daemon=True)
    thread.start()
    try:
        yield
        is_well = True
    finally:
        stop.set()
        thread.join()
        if not is_well:
            publication.stop()
    if is_well:
        publication.finish()
        after()


def pause_seconds(every: float, took: float) -> float:
    """Return how long to wait after a turn that `took` so many seconds.

    A version that comes when a turn has just begun is published when the next one ends: `every`
    seconds later, unless turns are long. Those begin at moments that their lengths do not move.
    """
    period = max(every - took, every * _LEAST_PERIOD)
    return period - took % period
