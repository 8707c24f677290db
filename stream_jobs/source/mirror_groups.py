"""The mirrors of a prefix as consumer groups of Kafka, by which each knows what the others lack.

A mirror joins no group: its offsets are in its own log, with its rows. It commits a copy of them,
so that others, and Kafka's tools, see how far it is. Kafka forgets an offset that was committed a
week ago (`offsets.retention.minutes`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

from kafka import OffsetAndMetadata, TopicPartition, errors

from stream_jobs.source.admin_client import opened_admin
from stream_jobs.source.requests import Partition
from stream_jobs.source.topics import BrokerConfig

_HASH_DIGITS: Final = 8


def group_prefix(prefix: str) -> str:
    """Return how the names of the groups of all mirrors of a prefix begin."""
    return f"{prefix}.mirror."


def group_of(prefix: str, name: str, path: str) -> str:
    """Return the group of the mirror `name` at `path`, also after its log has moved."""
    return f"{group_prefix(prefix)}{name}-{sha256(path.encode()).hexdigest()[:_HASH_DIGITS]}"


class MirrorGroups:
    """The groups of all mirrors of a prefix; every method raises KafkaError and OSError."""

    def __init__(self, admin: Any, prefix: str) -> None:
        """Ask with kafka-python's `admin`."""
        self._admin = admin
        self._prefix = group_prefix(prefix)

    @classmethod
    @contextmanager
    def opened(cls, facts: BrokerConfig, prefix: str) -> "Iterator[MirrorGroups]":
        """Ask over a connection of its own, for as long as the block lasts."""
        with opened_admin(facts) as admin:
            yield cls(admin, prefix)

    def names(self) -> set[str]:
        """Return the groups that this account may see."""
        listed = {str(group["group_id"]) for group in self._admin.list_groups()}
        return {name for name in listed if name.startswith(self._prefix)}

    def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit by partition the next record that is wanted; deleted topics are left out."""
        wanted = {
            TopicPartition(*place): OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        for kind in self._admin.alter_group_offsets(group, wanted).values():
            if kind not in (errors.NoError, errors.UnknownTopicOrPartitionError):
                raise kind(group)

    def offsets(self, group: str) -> dict[Partition, int]:
        """Return what a group has committed."""
        found = self._admin.list_group_offsets(group)[group]
        return {(place.topic, place.partition): own.offset for place, own in found.items()}
