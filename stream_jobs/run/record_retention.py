"""Deletes records from topics that the tables have: `kafka.delete_after_hours`.

Kafka deletes records by time and size, whether they were applied or not. A job may delete them
sooner, with Kafka's own request DeleteRecords, so that a log needs room for hours and not for days.
Three conditions must hold for a record:

1. The table has it: its offset is below that of the mirror's own log, or of the record that says
   from where on a table that is set aside goes on. What Spark has read does not count. A commit of
   the last seconds may be lost with the power, so it is synced before it counts.
2. Each other mirror of the topics has it. Mirrors say so as consumer groups (`mirror_groups`): a
   job that deletes, and each job that sees one, commits its offsets. A job deletes nothing in its
   first turn, so that the others have seen it before.
3. Its commit at the source is some hours old. `verify` reads the records of what it compares.

A crash may come at any point: what is committed and deleted follows what the tables have.
"""

import math
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from kafka.errors import KafkaError

from connector.foundation.errors.message import Message
from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.mirror_groups import MirrorGroups, group_of
from stream_jobs.source.requests import Partition

_MS_AN_HOUR: Final = 3_600_000
_SECONDS_AN_HOUR: Final = 3600
# Of the hours: records go in as many steps.
_STEPS: Final = 24
# Kafka forgets what was committed a week ago.
_COMMIT_SECONDS: Final = 24 * 60 * 60
# Between two looks for other mirrors, and at most between two steps.
_LOOK_SECONDS: Final = 60.0
_STEP_SECONDS_MAX: Final = 900.0


def _now_ms() -> int:
    return round(time.time() * 1000)


class RecordRetention:
    """The deletion of records that a mirror, and each other one of the topics, has."""

    def __init__(
        self,
        settings: Settings,
        client: KafkaClient,
        sync: Callable[[AbstractSet[str]], None],
        now_ms: Callable[[], int] = _now_ms,
    ) -> None:
        """Delete what the settings allow; `sync` waits for the disk of the tables of topics."""
        self._sync = sync
        self._client = client
        self._now_ms = now_ms
        self._facts = settings.kafka.facts()
        self._prefix = settings.kafka.topic_prefix
        self._hours = settings.kafka.delete_after_hours
        self._group = group_of(self._prefix, settings.name, settings.mirror.path)
        self._committed: dict[Partition, int] = {}
        self._committed_all_at = -math.inf
        self._deleted: dict[Partition, int] = {}

    @property
    def pause_seconds(self) -> float:
        """How long to wait between two turns."""
        if not self._hours:
            return _LOOK_SECONDS
        return min(self._hours * _SECONDS_AN_HOUR / _STEPS, _STEP_SECONDS_MAX)

    def turn(self, applied: Mapping[Partition, int]) -> Message | None:
        """Commit and delete; return why that is not possible now.

        `applied` has by partition the first record that the table lacks.
        """
        try:
            with MirrorGroups.opened(self._facts, self._prefix) as groups:
                self._turn(groups, applied)
        except MirrorError as error:
            return Message(record_errors.NOT_DELETED, {"why": error.message})
        except (KafkaError, OSError) as error:
            return Message(record_errors.NOT_DELETED, {"why": str(error)})
        return None

    def _turn(self, groups: MirrorGroups, applied: Mapping[Partition, int]) -> None:
        known = groups.names()
        others = known - {self._group}
        if not self._hours and not others:
            return
        counts = self._client.partition_counts()
        own = {place: at for place, at in applied.items() if place[1] < counts.get(place[0], 0)}
        self._commit(groups, own)
        if self._hours and self._group in known:
            self._delete(own, [groups.offsets(name) for name in sorted(others)])

    def _commit(self, groups: MirrorGroups, own: Mapping[Partition, int]) -> None:
        if time.monotonic() - self._committed_all_at >= _COMMIT_SECONDS:
            self._committed, self._committed_all_at = {}, time.monotonic()
        moved = {place: at for place, at in own.items() if self._committed.get(place) != at}
        if moved:
            self._sync({topic for topic, _ in moved})
            groups.commit(self._group, moved)
            self._committed |= moved

    def _delete(self, own: Mapping[Partition, int], others: list[dict[Partition, int]]) -> None:
        ends = {
            place: min([at, *(other[place] for other in others if place in other)])
            for place, at in own.items()
        }
        ends = {place: at for place, at in ends.items() if at > self._deleted.get(place, 0)}
        time_ms = self._now_ms() - round(self._hours * _MS_AN_HOUR)
        young = self._client.offsets_at(ends, time_ms)
        ends = {place: min(at, young.get(place, at)) for place, at in ends.items()}
        ends = {place: at for place, at in ends.items() if at > self._deleted.get(place, 0)}
        self._client.delete_records(ends)
        self._deleted |= ends
