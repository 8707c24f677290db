"""The first load: each table over a connection of its own, several tables at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream_jobs.replica.table_step import TableStep
    from stream_jobs.replica.table_writer import Written


def load_each(
    steps: Sequence[TableStep], connections: int, load: Callable[[TableStep], Written]
) -> Iterator[tuple[TableStep, Written]]:
    """Call `load` for each step, at most `connections` at a time; yield what is done.

    After an error, the tables that are being loaded are loaded to their ends, and no others.
    """
    # Large tables first, so that none is left alone at the end.
    largest = sorted(steps, key=lambda step: step.difference.live or 0, reverse=True)
    pool = ThreadPoolExecutor(connections, "load")
    try:
        begun = {pool.submit(load, step): step for step in largest}
        for future in as_completed(begun):
            yield begun[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
