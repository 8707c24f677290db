"""Topics are created when first needed, with settings that fit what is written to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, TopicAlreadyExistsError

from connector.envelope.progress import progress_topic
from connector.envelope.table_schema import schema_topic
from connector.sink.connection import client_settings, connector_error

if TYPE_CHECKING:
    from connector.config import KafkaSettings

_HOUR_MS = 3_600_000
# Control records are replayed from the start, so their topics keep the last one of each key for
# ever, in one partition, and are compacted soon.
_CONTROL_CONFIG = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": str(24 * _HOUR_MS),
}


class TopicCreator:
    """Makes sure that topics exist; asks the cluster only for those that it has not seen."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Create topics in the cluster of `settings`."""
        self._settings = settings
        self._known: set[str] = set()

    def ensure(self, *topics: str) -> None:
        """Create those of `topics` that are missing.

        Raises SinkRefused or SinkUnavailable.
        """
        missing = [topic for topic in topics if topic not in self._known]
        if not missing:
            return
        doing = f"create topic {', '.join(missing)}"
        try:
            admin = KafkaAdminClient(**client_settings(self._settings))
            try:
                # All of them: after a restart, most that will be asked for are there.
                self._known.update(admin.list_topics())
                wanted = {
                    topic: self._description(topic) for topic in missing if topic not in self._known
                }
                if wanted:
                    admin.create_topics(wanted, wait_for_metadata=True)
            finally:
                admin.close()
        except TopicAlreadyExistsError:
            # Someone else was faster.
            pass
        except (KafkaError, OSError) as error:
            raise connector_error(self._settings, doing, error) from error
        self._known.update(missing)

    def _description(self, topic: str) -> dict[str, Any]:
        settings = self._settings
        prefix = settings.topic_prefix
        size = {"max.message.bytes": str(settings.record_bytes_max)}
        if topic in (progress_topic(prefix), schema_topic(prefix)):
            return {
                "num_partitions": 1,
                "replication_factor": settings.replication_factor,
                "configs": _CONTROL_CONFIG | size,
            }
        retention = -1 if settings.retention_hours < 0 else settings.retention_hours * _HOUR_MS
        return {
            "num_partitions": settings.partitions,
            "replication_factor": settings.replication_factor,
            "configs": {"cleanup.policy": "delete", "retention.ms": str(retention)} | size,
        }
