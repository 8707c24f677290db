"""Notifications of snapshots in the form of Debezium, to a topic of Kafka and to the log.

::

    key    {"id": "5563ae14-…"}
    value  {"id": "5563ae14-…", "type": "COMPLETED", "aggregate_type": "Initial Snapshot",
            "additional_data": {"connector_name": "shop"}, "timestamp": 1700000000000}

A record is in the Kafka transaction of what it tells.
https://debezium.io/documentation/reference/stable/configuration/notification.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import structlog

from connector.records.record import NO_HEADERS

if TYPE_CHECKING:
    from connector.records.record import RecordTarget
    from connector.settings.sections import Settings
    from connector.system.clock import Clock

INITIAL: Final = "Initial Snapshot"
INCREMENTAL: Final = "Incremental Snapshot"
_NS_PER_MS = 1_000_000


class Notifications:
    """Writes notifications where the settings want them."""

    def __init__(self, settings: Settings, target: RecordTarget, clock: Clock) -> None:
        """Write records to `target`."""
        self._topic = settings.notifications.kafka_topic
        self._logs = settings.notifications.log
        self._connector = settings.kafka.topic_prefix
        self._target = target
        self._clock = clock

    @property
    def wanted(self) -> bool:
        """Whether they are written anywhere."""
        return self._logs or self._topic is not None

    def write(self, id_: str, aggregate: str, kind: str, data: dict[str, str]) -> None:
        """Write one; `data` is its additional_data. Raises the errors of the target."""
        data = data | {"connector_name": self._connector}
        if self._logs:
            structlog.get_logger().info(
                "a notification", id=id_, aggregate_type=aggregate, type=kind, additional_data=data
            )
        if self._topic is not None:
            now_ms = self._clock.time_ns() // _NS_PER_MS
            value = {
                "id": id_,
                "type": kind,
                "aggregate_type": aggregate,
                "additional_data": data,
                "timestamp": now_ms,
            }
            self._target.take(self._topic, _json({"id": id_}), _json(value), NO_HEADERS, now_ms)


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
