"""The ranges of a proof, one for each epoch.

Without an end, the last range goes up to the newest committed progress. Without a beginning, the
first one starts at the oldest position of which both the topics and the log tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.contract import Sequence
from connector.errors import SourceRefused, SourceUnavailable
from connector.gtid.either import has_all, parse_gtid_set
from connector.proof.outcome import EpochOutcome
from connector.proof.span import Span, SpanFinder

if TYPE_CHECKING:
    from connector.gtid import GtidSet, MariadbGtidSet
    from connector.progress.progress_record import Progress
    from connector.proof.delivered import Epoch
    from connector.proof.ends import End
    from connector.settings.sections import SourceSettings


@dataclass(slots=True)
class Spans:
    """What can be proven, and the epochs that cannot, each in its order."""

    found: list[Span] = field(default_factory=list)
    unproven: list[EpochOutcome] = field(default_factory=list)


def find_spans(
    settings: SourceSettings,
    epochs: list[Epoch],
    lowest: bytes | None,
    first: End | None,
    until: End | None,
) -> Spans:
    """Return the ranges from `first` to `until`; None stands for the oldest and the newest.

    A position is one in the log of the newest epoch. `lowest` is the lowest sequence of these
    epochs in the topics. Raises SourceUnavailable or SourceRefused if the last epoch cannot be
    proven.
    """
    found = Spans()
    lowest_epoch = epochs[0].number if lowest is None else Sequence.parse(lowest.decode()).epoch
    newest_epoch = epochs[-1]
    epochs = _between(epochs, lowest_epoch, first, until)
    for epoch in epochs:
        is_first = epoch is epochs[0]
        is_last = epoch is epochs[-1]
        finder = SpanFinder(
            settings, epoch, until if is_last else None, is_newest=epoch is newest_epoch
        )
        try:
            if is_first and first is not None:
                found.found.append(finder.starting(first.as_start))
            elif is_first and lowest_epoch == epoch.number:
                found.found.append(finder.oldest(lowest))
            else:
                follows = bool(found.found) and found.found[-1].epoch == epoch.number - 1
                found.found.append(finder.going_on(lowest, follows=follows))
        except (SourceRefused, SourceUnavailable) as error:
            if is_last:
                raise
            newest = epoch.newest
            assert newest is not None
            found.unproven.append(
                EpochOutcome(epoch.number, newest.source, newest.server_uuid, unproven=str(error))
            )
    return found


def _between(
    epochs: list[Epoch], lowest_epoch: int, first: End | None, until: End | None
) -> list[Epoch]:
    """Return the epochs that have a part of the range; at least one."""
    if first is None:
        wanted = [epoch for epoch in epochs if epoch.number >= lowest_epoch]
    elif first.position is not None:
        wanted = []
    else:
        wanted = [epoch for epoch in epochs if not has_all(first.gtid_set, _gtids(epoch.newest))]
    wanted = wanted or epochs[-1:]
    if until is not None and until.gtid_set is not None:
        for count, epoch in enumerate(wanted, 1):
            if has_all(_gtids(epoch.newest), until.gtid_set):
                return wanted[:count]
    return wanted


def _gtids(progress: Progress | None) -> GtidSet | MariadbGtidSet | None:
    if progress is None or progress.gtid_set is None:
        return None
    return parse_gtid_set(progress.gtid_set, progress.flavour)
