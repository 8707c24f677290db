"""The cuts that a job has written: the newest one, and which ones are removed.

*Removal.* A cut goes before the files of its versions: both ages are measured from the same
moment, and a cut is kept no longer than any table keeps them. The newest cut stays: its tables
have not changed since. A table that other pipelines write to may have changed: a cut of it names
a version that was read a while ago, and goes that much earlier.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from connector.foundation.errors.message import Message
from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.cut import Cut, CutShards, CutStore, CutTable
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.log import now
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.run.job_state import Ownership
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables import merged_table
from stream_jobs.tables.merged_table import MergedTables

# A storage may say later than the job when it has written a file.
_MARGIN_MS: Final = 60_000
# Bases are looked for after so many cuts.
_BASES_EVERY: Final = 100
_MADE_AGAIN: Final = "it is made again"


class CutHistory:
    """The cuts of a mirror, which belongs to this process."""

    def __init__(
        self,
        store: CutStore,
        retention_ms: int,
        ownership: Ownership | None = None,
        merged: MergedTables | None = None,
    ) -> None:
        """Keep each cut in `store` for `retention_ms`, while `ownership` holds.

        Other pipelines clean up the tables `merged`, too, if they are given.
        """
        self._merged = merged
        self._store = store
        self._ownership = ownership
        self._retention_ms = retention_ms
        self._read: tuple[Cut | None, dict[int, int]] | None = None

    @property
    def last(self) -> Cut | None:
        """The newest cut; None without one. Raises MirrorError if it cannot be read."""
        return self._known[0]

    @property
    def recent(self) -> Cut | None:
        """The newest cut; None if it is so old that versions of its tables may be gone.

        Raises MirrorError as `last`.
        """
        last = self.last
        return last if last is not None and last.written_ms >= now() - self._retention_ms else None

    @property
    def renewal_ms(self) -> float:
        """After so long, a cut names newer versions of tables that other pipelines write to."""
        return self._retention_ms * merged_table.SEEN_SHARE

    def refusal(
        self, bound: PackedSequence, tables: Mapping[str, CutTable], left_out: Collection[str]
    ) -> Message | None:
        """Return why there is no cut at `bound`; None if there is nothing against it.

        That is because it is below the last cut, of which some tables are still as they were.
        Raises MirrorError if the last cut cannot be read.
        """
        last = self.last
        if last is None or str(bound.unpack()) >= last.seq:
            return None
        waiting = [
            name
            for name, own in sorted(last.tables.items())
            if name in left_out or (name in tables and tables[name].generation == own.generation)
        ]
        facts = {"number": last.number, "tables": waiting}
        return Message(cut_errors.LOWER, facts) if waiting else None

    def add(
        self,
        delivered: DeliveredPosition,
        tables: Mapping[str, CutTable],
        left_out: Mapping[str, str],
        source_time_ms: int | None,
        shards: Mapping[str, CutShards] = MappingProxyType({}),
    ) -> Cut | None:
        """Write a cut, unless it says the same as the last one; return it.

        Raises MirrorError if another process has taken over, or if the storage fails.
        """
        last = self.last
        times = [source_time_ms, None if last is None else last.source_time_ms]
        cut = Cut(
            str(delivered.bound.unpack()),
            delivered.flavour,
            delivered.gtid,
            delivered.position,
            max((at for at in times if at is not None), default=None),
            now(),
            tables,
            dict(sorted(left_out.items())),
            shards=dict(shards),
        )
        if last is not None:
            facts = (last.seq, last.tables, last.left_out, last.shards)
            if (cut.seq, cut.tables, cut.left_out, cut.shards) == facts:
                return None
        return self._put(cut)

    def remove_old(self, tables: Iterable[DeltaTable], at: int) -> None:
        """Remove the cuts whose versions may go when `tables` are cleaned up `at` this time."""
        last, written = self._known
        keep: float = self._retention_ms
        for table in tables:
            # If its properties are invalid, nothing is cleaned up, so its cuts may stay.
            with suppress(MirrorError):
                own = Retention.of(table.path, table.snapshot.configuration)
                keep = min(keep, own.versions)
        for shared in () if self._merged is None else self._merged.every():
            with suppress(MirrorError):
                keep = min(keep, shared.kept_ms)
        until = at - keep + min(_MARGIN_MS, keep)
        newest = 0 if last is None else last.number
        self._remove([n for n, ms in written.items() if ms < until and n < newest])

    def forget(self, name: str) -> None:
        """Remove the cuts that have the table `name`, because its files go."""
        last, written = self._known
        if last is None:
            return
        newest = last
        if name in last.tables:
            tables = {other: own for other, own in last.tables.items() if other != name}
            left_out = {**last.left_out, name: _MADE_AGAIN}
            newest = self._put(replace(last, tables=tables, left_out=left_out, written_ms=now()))
        self._remove([number for number in written if number < newest.number])

    @property
    def _known(self) -> tuple[Cut | None, dict[int, int]]:
        """The newest cut, and when each one was written, by its number."""
        if self._read is None:
            self._read = self._store.latest(), self._store.written()
        return self._read

    def _put(self, cut: Cut) -> Cut:
        while True:
            _, written = self._known
            numbered = replace(cut, number=max(written, default=0) + 1)
            if self._store.put(numbered):
                written[numbered.number] = numbered.written_ms
                self._read = numbered, written
                return numbered
            # An older process has written it just before this one took over, or a newer one.
            if self._ownership is not None:
                self._ownership.check()
            self._read = None

    def _remove(self, numbers: list[int]) -> None:
        _, written = self._known
        for number in numbers:
            self._store.remove(number)
            del written[number]
        if any(number % _BASES_EVERY == 0 for number in numbers):
            self._store.remove_bases(min(written))
