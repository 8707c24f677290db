"""Records that a batch must apply, although they are not below the moment at which it ends.

Spark may have found records of a transaction that was not complete when the moment was read. A
pipeline writes one transaction after the other, so two moments later each of its records is
covered. What is not covered then was written by another pipeline, or by no pipeline at all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import OffsetRange, ranges_by_topic
from stream_jobs.tables.table_work import TableWork

# Runs rounds of tables until they have come to their bounds.
RoundsOf = Callable[[Sequence["TableWork"]], None]

# Moments of the source after which a record of a pipeline is covered by its progress: the one that
# was under way when the record was found, and the one after it.
_MOMENTS: Final = 2


def apply_late(
    every: Sequence[TableWork],
    required: Sequence[OffsetRange],
    bound: PackedSequence | None,
    cuts: CutCoordinator,
    run: RoundsOf,
) -> None:
    """Apply `required` beyond `bound`, and refuse what no pipeline has written.

    Without a bound, all was applied. Raises MirrorError if the brokers do not answer.
    """
    moments, own = 0, ranges_by_topic(required)
    while bound is not None and (late := _late(every, own)):
        later = cuts.later(bound) if moments < _MOMENTS else bound
        if later == bound:
            _refuse_forged(late, own, bound, cuts, run)
            return
        moments += 1
        bound = later
        for work in late:
            work.go_on(bound, cuts.ends(work.topic))
        run(late)


def _refuse_forged(
    late: Sequence[TableWork],
    required: Mapping[str, Sequence[OffsetRange]],
    bound: PackedSequence,
    cuts: CutCoordinator,
    run: RoundsOf,
) -> None:
    """Refuse records that are beyond the progress of all pipelines; apply those of others."""
    highest = cuts.highest()
    if highest is not None and highest > bound:
        for work in late:
            work.go_on(highest, cuts.ends(work.topic))
        run(late)
        cuts.give_up(bound)
    for work in _late(late, required):
        work.refuse_forged(required[work.topic], cuts.progress_topic)


def _late(
    every: Sequence[TableWork], required: Mapping[str, Sequence[OffsetRange]]
) -> list[TableWork]:
    """Return the work whose bound keeps records from its table that are `required`, by topic."""
    return [work for work in every if work.is_before(required.get(work.topic, ()))]
