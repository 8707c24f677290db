"""What one connection fetches again and again (KIP-227).

The client names partitions once, then only those that have moved or are gone; the response has
those with something new. A session ends with its connection: a client that comes back with its
number is told that it is unknown, and begins another one.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-227
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final, NamedTuple

from kafka import errors

from connector.kafka.folder.results import Fetched, PartitionId

_NO_SESSION: Final = 0
# Instead of a number: all partitions, without a session.
_ALONE: Final = -1
_FIRST: Final = 0
_EPOCH_MAX: Final = 0x7FFF_FFFF
_NUMBERS: Final = count(1)


class Position(NamedTuple):
    """Where a partition is to be read."""

    offset: int
    bytes_max: int


class FetchSession:
    """The partitions that a connection reads."""

    def __init__(self) -> None:
        self.id = _NO_SESSION
        self.positions: dict[PartitionId, Position] = {}
        self._epoch = _FIRST
        # What the client knows of each: ends and start.
        self._known: dict[PartitionId, tuple[int, int, int]] = {}

    def begin(
        self,
        session_id: int,
        epoch: int,
        wanted: Mapping[PartitionId, Position],
        gone: Iterable[PartitionId],
    ) -> int:
        """Take a request; return an error code, 0 if it fits."""
        if epoch in (_FIRST, _ALONE):
            self.id = next(_NUMBERS) if epoch == _FIRST else _NO_SESSION
            self._epoch = _FIRST
            self.positions = dict(wanted)
            self._known = {}
            return 0
        if not self.id or session_id != self.id:
            return int(errors.FetchSessionIdNotFoundError.errno)
        if epoch != self._epoch % _EPOCH_MAX + 1:
            return int(errors.InvalidFetchSessionEpochError.errno)
        self._epoch = epoch
        self.positions |= wanted
        for partition in gone:
            self.positions.pop(partition, None)
            self._known.pop(partition, None)
        return 0

    @property
    def is_whole(self) -> bool:
        """Whether the response names each partition."""
        return not self.id or self._epoch == _FIRST

    def news(
        self, found: Mapping[PartitionId, tuple[int, Fetched]]
    ) -> dict[PartitionId, tuple[int, Fetched]]:
        """Return what the response has of what was found."""
        news: dict[PartitionId, tuple[int, Fetched]] = {}
        for partition, (code, fetched) in found.items():
            state = fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset
            if self.is_whole or code or fetched.records or self._known.get(partition) != state:
                news[partition] = code, fetched
                self._known[partition] = state
            if fetched.records and self.id:
                # The others get their turn before it.
                self.positions[partition] = self.positions.pop(partition)
        return news
