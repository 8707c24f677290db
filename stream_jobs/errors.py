"""Everything that stops the job on purpose, as one tree.

::

    StreamJobError                 the message says where, what, and what to do
    ├── ConfigError                the configuration is wrong
    ├── CorruptRecord              a record is not what the contract says
    ├── SchemaMissing              a row's schema record does not appear
    ├── PartitionsAdded            a topic has more partitions than when it was first read
    ├── UnsupportedSchemaChange    a table changed in a way that the mirror cannot follow
    └── MirrorConflict             what lies at the mirror's path is not this job's mirror

No row values and no secrets appear in messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.contract import Sequence


class StreamJobError(Exception):
    """Base of every error that the job raises on purpose."""


class ConfigError(StreamJobError):
    """The configuration is wrong."""


class CorruptRecord(StreamJobError):
    """A record is not what the contract says; nothing of its batch is marked as applied."""

    def __init__(
        self, topic: str, partition: int, offset: int, seq: Sequence | None, reason: str
    ) -> None:
        """Compose the sentence from the facts; `seq` is None where the header is unreadable."""
        super().__init__(
            f"{topic}, partition {partition}, offset {offset}, "
            f"cdc.seq {'unreadable' if seq is None else seq}: {reason}. "
            "The batch was not marked as applied; look at the record with a Kafka consumer, "
            "repair what wrote it, and start the job again"
        )
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.seq = seq
        self.reason = reason


class SchemaMissing(StreamJobError):
    """A row's schema record does not appear in the schema topic."""

    def __init__(self, topic: str, schema_id: str, schema_topic: str, seconds: float) -> None:
        """State that `schema_topic` had no record of `schema_id` for `seconds`."""
        super().__init__(
            f"{topic}: its rows use the schema {schema_id}, but {schema_topic} had no such record "
            f"for {seconds:g} seconds. Check that {schema_topic} is compacted, not deleted, and "
            "that this job may read it"
        )


class PartitionsAdded(StreamJobError):
    """A topic has more partitions than when it was first read."""

    def __init__(self, topic: str, partitions: int) -> None:
        """State that `topic` had `partitions` partitions at first."""
        super().__init__(
            f"{topic}: it has records in more than the {partitions} partitions that it had when it "
            "was first read. Keys moved to other partitions, where a later delete can be read "
            "before an earlier insert, which would bring the row back. If everything from before "
            'the change had been applied, set kafka.added_partitions = "accept" for one run; '
            "otherwise begin again under a new topic prefix"
        )


class UnsupportedSchemaChange(StreamJobError):
    """A table changed in a way that the mirror cannot follow."""

    def __init__(self, table: str, change: str, path: str) -> None:
        """State what changed in `table`, whose mirror lies at `path`."""
        super().__init__(
            f"{table}: {change}. The mirror at {path} cannot follow this and was left as it was "
            "before the change. Revert the change at the source, or take the mirror out of the "
            "way together with the pipeline's topics and begin again under a new topic prefix"
        )


class MirrorConflict(StreamJobError):
    """What lies at the mirror's path is not this job's mirror."""
