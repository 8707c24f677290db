"""Runs the tables of a batch in rounds: the tasks of all tables as one Spark job, then commits.

Most tables are done after one round. The next round has only those that are not: see `TableWork`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from connector.errors import MirrorError
from stream_jobs.apply.defects import DEFECTS, table_defect
from stream_jobs.apply.facts import PartResult, Task, by_topic
from stream_jobs.tables.plan import shares, spread

if TYPE_CHECKING:
    from stream_jobs.tables.table_work import TableWork

# Runs tasks somewhere, and returns the results of all.
Runner = Callable[[Sequence[Task]], list[PartResult]]


class Rounds:
    """How rounds are run."""

    def __init__(self, template: Task, run: Runner, cores: Callable[[], int], threads: int) -> None:
        """Run tasks like `template` on `cores`, and commit in `threads`.

        The number of cores is asked for each round: workers of a cluster come and go.
        """
        self._template = template
        self._run = run
        self._cores = cores
        self._threads = threads

    def run(self, every: Sequence[TableWork], phases: dict[str, float]) -> None:
        """Run rounds until each table has been committed, or has an error; add up `phases`."""
        pending = [work for work in every if work.is_pending]
        with ThreadPoolExecutor(self._threads) as pool:
            while pending:
                at = time.monotonic()
                tasks = self._tasks(pending)
                phases["plan"] += time.monotonic() - at
                at = time.monotonic()
                results = by_topic(self._run(tasks) if tasks else ())
                phases["tasks"] += time.monotonic() - at
                at = time.monotonic()
                found = [(work, results.get(work.topic, [])) for work in pending]
                done = list(pool.map(lambda each: _finished(*each), found))
                pending = [work for work, is_done in zip(pending, done, strict=True) if not is_done]
                phases["commit"] += time.monotonic() - at

    def _tasks(self, pending: Sequence[TableWork]) -> list[Task]:
        cores, parts, files = self._cores(), [], []
        for work in pending:
            try:
                own = work.next_round()
                rewritten = own.rewritten()
                if not rewritten:
                    parts.append(own.part())
            except DEFECTS as error:
                # It ends with this round.
                work.error = table_defect(work.topic, error)
            else:
                files += rewritten
        whole = frozenset(work.topic for work in pending if work.must_stay_whole)
        tasks = [self._template.doing(parts=tuple(own)) for own in spread(parts, cores, whole)]
        by_size = shares(files, cores, lambda each: each.file.size)
        return tasks + [self._template.doing(rewritten=own) for own in by_size]


def _finished(work: TableWork, results: Sequence[PartResult]) -> bool:
    if work.error is not None:
        return True
    try:
        return work.finish_round(results)
    except MirrorError as error:
        work.error = error
    except DEFECTS as error:
        work.error = table_defect(work.topic, error)
    return True
