"""Offsets that consumer groups have committed: all that the log in a folder keeps of groups.

Nobody joins a group here. Each reader asks for its partitions itself, and commits how far it is, so
that others know what it still needs.
"""

from collections.abc import Mapping

from kafka import errors

from connector.kafka.folder.core import LogCore
from connector.kafka.folder.frames import GroupCommit
from connector.kafka.folder.results import PartitionId


class GroupOffsets:
    """The committed offsets of an open log; any thread may call any method."""

    def __init__(self, core: LogCore) -> None:
        """Keep them in this log."""
        self._core = core

    def commit(
        self, group: str, offsets: Mapping[PartitionId, int]
    ) -> Mapping[PartitionId, type[errors.BrokerResponseError]]:
        """Commit offsets of a group, which are on the disk then; return what is refused."""
        core = self._core
        refused: dict[PartitionId, type[errors.BrokerResponseError]] = {}
        taken = []
        with core.lock:
            core.make_room()
            for partition, offset in offsets.items():
                try:
                    key, _ = core.partition(partition)
                except errors.UnknownTopicOrPartitionError as error:
                    refused[partition] = type(error)
                else:
                    taken.append((*key, offset))
            end = core.journal.written
            if taken:
                end = core.write(GroupCommit(group, core.now_ms(), taken))
        core.await_disk(end)
        return refused

    def names(self) -> list[str]:
        """Return the groups that have committed something within a week."""
        with self._core.lock:
            return [group for group in self._core.state.groups if self._of(group)]

    def of(self, group: str) -> Mapping[PartitionId, int]:
        """Return what a group has committed within a week."""
        with self._core.lock:
            return self._of(group)

    def _of(self, group: str) -> Mapping[PartitionId, int]:
        self._core.journal.check()
        return self._core.state.group_offsets(group, self._core.now_ms())
