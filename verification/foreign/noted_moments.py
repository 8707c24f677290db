"""Through which moment of the source a table of another program is equal.

A moment is noted before a table is read, so the source shows all of it in each SELECT that follows.
A row that equals the source's, or its last state in the log, has all of this moment. A row that
lags has all changes before the first one that it lacks. So the table is equal through the newest
noted moment that has none of these changes.

GTIDs tell whether a moment has a change. If no noted moment is early enough, the time of the commit
tells: the table is equal through the time before it. Logs of MariaDB, and old ones, have the time
at which a statement began, which may be any time: it proves nothing.
"""

from bisect import insort
from collections.abc import Callable, Collection
from threading import Lock
from typing import Final

from connector.binlog.gtid import AnyGtidSet, Gtid, GtidSet, MariadbGtid, MariadbGtidSet, lacks_some
from verification.foreign.row_states import Change
from verification.source_moment import SourceMoment

# Clocks of servers go in steps.
_MARGIN_US: Final = 2_000_000
# So many of the newest are kept.
_NOTED_MAX: Final = 10_000


class NotedMoments:
    """The moments of one server that were noted; several threads may use it."""

    def __init__(self, read: Callable[[], SourceMoment]) -> None:
        """Note what `read` returns, which is the moment now."""
        self._read = read
        self._turn = Lock()
        self._noted: list[SourceMoment] = []

    def now(self) -> SourceMoment:
        """Return the moment now. Raises the errors of reading it."""
        moment = self._read()
        with self._turn:
            insort(self._noted, moment)
            del self._noted[:-_NOTED_MAX]
        return moment

    def through(self, at: SourceMoment, lacking: Collection[Change]) -> SourceMoment | None:
        """Return the newest moment up to `at` whose changes a target has; None if unknown.

        Of each row that lags, `lacking` has the first change that the target lacks.
        """
        if not lacking:
            return at
        with self._turn:
            noted = [moment for moment in self._noted if moment <= at]
        low, high = 0, len(noted)
        # A moment before one that has none of these changes has none of them, either.
        while low < high:
            middle = (low + high) // 2
            if _is_before(noted[middle], lacking):
                low = middle + 1
            else:
                high = middle
        if low:
            return noted[low - 1]
        if not all(change.has_commit_time for change in lacking):
            return None
        earliest = min(change.committed_us for change in lacking) - _MARGIN_US
        return SourceMoment(min(at.time_us, earliest), "")


def _is_before(moment: SourceMoment, changes: Collection[Change]) -> bool:
    """Return whether a moment surely has none of some changes."""
    if moment.transactions and any(change.gtid is None for change in changes):
        return False
    if not moment.transactions:
        # Without GTIDs, only times are known.
        limit = moment.time_us + _MARGIN_US
        return all(change.has_commit_time and limit < change.committed_us for change in changes)
    is_mariadb = any(isinstance(change.gtid, MariadbGtid) for change in changes)
    known: AnyGtidSet
    known = (MariadbGtidSet if is_mariadb else GtidSet).parse(moment.transactions)
    return all(lacks_some(known, _set_of(change.gtid)) for change in changes if change.gtid)


def _set_of(gtid: Gtid | MariadbGtid) -> AnyGtidSet:
    if isinstance(gtid, MariadbGtid):
        return MariadbGtidSet.of([gtid])
    own = GtidSet()
    own.add(gtid)
    return own
