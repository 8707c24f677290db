"""The peers of a pipeline, Kafka and a source; a simulation replaces both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.metrics.kafka_watch import KafkaWatch
from connector.metrics.source_watch import SourceWatch
from connector.sink.commands import CommandListener
from connector.sink.kafka_sink import KafkaSink, superseded_by
from connector.sink.limits import check_limits
from connector.sink.recovery import read_progress
from connector.snapshot.recovered_copies import COPY_PEERS
from connector.source.choice import choose_source
from connector.system.clock import CLOCK, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.errors import SourceRefused
    from connector.metrics.figures import Figures, Watch
    from connector.progress.progress_record import Progress
    from connector.progress.stream_position import Instance
    from connector.settings.sections import KafkaSettings, Settings, SourceSettings
    from connector.sink.record_attendant import Listener
    from connector.snapshot.recovered_copies import CopyPeers
    from connector.source.choice import CheckedSource


@dataclass(frozen=True, slots=True)
class Peers:
    """The functions that open connections to both."""

    open_sink: Callable[[Settings, Instance], KafkaSink]
    # Skips the servers that refused to continue, by their HOST:PORT.
    choose_source: Callable[
        [SourceSettings, Progress | None, Mapping[str, SourceRefused]], CheckedSource
    ]
    # Watches the log of the chosen server until it is closed.
    watch_source: Callable[[SourceSettings, Figures], Watch]
    # Watches Kafka from the first run on.
    watch_kafka: Callable[[KafkaSettings, Figures], Watch]
    clock: Clock = CLOCK
    copying: CopyPeers = COPY_PEERS
    listen: Callable[[KafkaSettings, str, int], Listener] = CommandListener


def _open_sink(settings: Settings, instance: Instance) -> KafkaSink:
    if not instance.claimed:
        check_limits(settings.kafka)
    else:
        # First look whether another instance has taken over; if so, do not fence it.
        last = read_progress(settings.kafka, settings.name)
        if last is not None and last.instance != instance.id:
            raise superseded_by(settings.name, last)
    return KafkaSink(
        settings.kafka,
        settings.name,
        instance.id,
        settings.delivery.in_flight_bytes_max,
        notifications=settings.notifications.kafka_topic,
    )


PEERS = Peers(_open_sink, choose_source, SourceWatch, KafkaWatch)
