"""Applies one batch of offset ranges to the tables; foreachBatch calls it.

    ranges ─▶ work of each table ─▶ tasks (one Spark job) ─▶ decisions and commits, in parallel
                       ▲                                           │
                       └──────── tables that need another round ───┘

Every table commits its rows with its progress, so a batch that is run again, after a crash at any
point, finds what was applied, and continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from connector.errors import MirrorError
from stream_jobs.apply.facts import PartResult, Task, by_topic
from stream_jobs.plan import shares, spread
from stream_jobs.reports import BatchReport
from stream_jobs.table_work import TableWork

if TYPE_CHECKING:
    from stream_jobs.services import Services
    from stream_jobs.source.ranges import OffsetRange
    from stream_jobs.topic_state import TopicStates
    from stream_jobs.upkeep import Upkeep

# Runs tasks somewhere, and returns the results of all.
Runner = Callable[[Sequence[Task]], list[PartResult]]


class BatchApplier:
    """Applies the batches of one stream to the mirrors."""

    def __init__(
        self,
        services: Services,
        states: TopicStates,
        template: Task,
        run: Runner,
        upkeep: Upkeep,
        *,
        cores: int,
        threads: int,
    ) -> None:
        """Run tasks like `template` on `cores`, commit in `threads`, and then do the upkeep."""
        self._services = services
        self._states = states
        self._template = template
        self._run = run
        self._upkeep = upkeep
        self._cores = cores
        self._threads = threads

    def apply(self, ranges: Sequence[OffsetRange]) -> BatchReport:
        """Apply the records in `ranges` that are not applied yet.

        Raises the MirrorError of a table that cannot go on, after all others were committed.
        """
        began = time.monotonic()
        phases = {"plan": 0.0, "tasks": 0.0, "commit": 0.0, "upkeep": 0.0}
        every, failed = self._begin(ranges)
        pending = [work for work in every if work.ranges()]
        phases["plan"] = time.monotonic() - began
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
        at = time.monotonic()
        self._upkeep.after([work.kept for work in every if work.kept is not None])
        phases["upkeep"] = time.monotonic() - at
        failed |= {work.topic: work.error for work in every if work.error is not None}
        for topic in failed:
            self._states.forget(topic)
        for _, error in sorted(failed.items()):
            raise error
        return BatchReport(
            seconds=time.monotonic() - began,
            records=sum(work.records for work in every),
            tables={work.name: work.report for work in every if work.report is not None},
            keyless_topics=[work.topic for work in every if work.is_keyless and work.records],
            phases={name: round(seconds, 3) for name, seconds in phases.items()},
        )

    def _begin(
        self, ranges: Sequence[OffsetRange]
    ) -> tuple[list[TableWork], dict[str, MirrorError]]:
        """Return the work of each table, and by topic the errors of those that cannot begin."""
        topics: dict[str, list[OffsetRange]] = {}
        for each in ranges:
            topics.setdefault(each.topic, []).append(each)
        every, failed = [], {}
        for topic, own in sorted(topics.items()):
            try:
                every.append(TableWork(self._services, self._states.of(topic), own))
            except MirrorError as error:
                failed[topic] = error
        return every, failed

    def _tasks(self, pending: Sequence[TableWork]) -> list[Task]:
        rewriting = [work for work in pending if work.rewritten()]
        others = [work for work in pending if not work.rewritten()]
        whole = frozenset(work.topic for work in others if work.must_stay_whole)
        parts = spread([work.part() for work in others], self._cores, whole)
        tasks = [self._template.doing(parts=tuple(own)) for own in parts]
        files = [file for work in rewriting for file in work.rewritten()]
        return tasks + [self._template.doing(rewritten=own) for own in shares(files, self._cores)]


def _finished(work: TableWork, results: Sequence[PartResult]) -> bool:
    try:
        return work.finish_round(results)
    except MirrorError as error:
        work.error = error
        return True
