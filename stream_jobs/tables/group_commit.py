"""Commits of shards that wait at the same time become one version of their Delta table.

    shop_1.orders ─┐
    shop_2.orders ─┼▶ write_in_group ─▶ one version: the rows and the progress of each
    shop_3.orders ─┘

A version costs as much as its table has files, and one after the other has to be written. So
whoever gets the lock first commits for all that wait, as MySQL's group commit does. A commit that
does not fit the newest version fails alone: nothing of it is in the version, and the others go on.
A commit that changes columns has its own version, and may be part of a turn.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from stream_jobs.delta.log import Moment
from stream_jobs.delta.table import CommitCosts, PreparedCommit, TableCommit
from stream_jobs.errors import CommitConflict
from stream_jobs.tables.commit_threads import await_others
from stream_jobs.tables.shared_delta import TRIES, TURN, ShardCommit, SharedDelta

_END_OF_TURN: Final = TableCommit(removed_domains=(TURN,), data_change=False)


def write_in_group(shared: SharedDelta, own: ShardCommit) -> None:
    """Write a version of `shared` with `own`, and with what waits beside it.

    Raises the error of `own`, if it is not in the version.
    """
    if own.changes_columns:
        with shared.lock:
            _write_all(shared, [own])
    else:
        shared.waiting.append(own)
        await_others()
        with shared.lock:
            # Another thread may have written it.
            if not own.is_done:
                _write_all(shared, [shared.waiting.popleft() for _ in range(len(shared.waiting))])
    if own.error is not None:
        raise own.error


def _write_all(shared: SharedDelta, every: Sequence[ShardCommit]) -> None:
    groups: dict[object, list[ShardCommit]] = {}
    earlier: Counter[str] = Counter()
    for each in every:
        # A version has one commit of a shard; the next one has to see the first.
        groups.setdefault((earlier[each.shard], each.operation), []).append(each)
        earlier[each.shard] += 1
    try:
        for group in groups.values():
            _write(shared, group)
    except BaseException as error:  # noqa: BLE001 - each thread raises it for its own commit
        for each in every:
            if not each.is_done:
                each.fail(error)


def _write(shared: SharedDelta, group: Sequence[ShardCommit]) -> None:
    """Write one version. Raises MirrorError if the storage fails, StopRequested as `await_turn`."""
    pending = group
    for _ in range(TRIES):
        shared.await_turn()
        parts = _prepared(pending)
        if not parts:
            return
        pending = list(parts)
        ends_turn = shared.ends_turn(is_mine=pending[0].changes_columns)
        end = [shared.delta.prepare(_END_OF_TURN)] if ends_turn else []
        note = max(each.note for each in pending).text
        began, before = Moment.here(), shared.delta.snapshot
        try:
            shared.delta.write([*parts.values(), *end], pending[0].operation, note)
        except CommitConflict as error:
            for each in pending:
                each.conflict = error
            shared.delta.refresh()
        else:
            shared.put = began
            if not pending[0].changes_columns:
                shared.divide_version(before, {each.shard: each.new for each in pending})
            _adopt(pending, shared.delta.take_costs())
            return
    for each in pending:
        assert each.conflict is not None
        each.fail(each.conflict)


def _prepared(every: Sequence[ShardCommit]) -> dict[ShardCommit, PreparedCommit]:
    """Return what fits the newest version; the others have their error."""
    parts = {}
    for each in every:
        try:
            parts[each] = each.prepare()
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the commit
            each.fail(error)
    return parts


def _adopt(every: Sequence[ShardCommit], costs: CommitCosts) -> None:
    for each in every:
        each.adopt(costs)
        each.is_done = True
        costs = CommitCosts(changed_ms=costs.changed_ms)
