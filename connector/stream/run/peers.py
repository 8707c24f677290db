"""The peers of a pipeline, Kafka and a source: connections, and the meaning of errors and silence.

A simulation replaces both. A source that sends nothing is idle, or the connection is dead. And
another instance of the pipeline that took over shows only as an error of source or Kafka. It reads
under the same server id, so the source disconnects the older reader: it blames the id, or closes
the connection silently. Kafka fences the older producer before the new instance has named itself.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from connector.foundation import errors
from connector.foundation.operating_system import CLOCK, Clock
from connector.foundation.settings.sections import KafkaSettings, Settings, SourceSettings
from connector.replication import answer_errors
from connector.stream.commands.listener import Listener
from connector.stream.commands.requests import RequestListener
from connector.stream.envelope.debezium.registry_schemas import SchemaIds
from connector.stream.metrics.control import SILENT_SECONDS
from connector.stream.metrics.kafka_watch import KafkaWatch
from connector.stream.metrics.pipeline_metrics import PipelineMetrics, Watch
from connector.stream.metrics.source_watch import SourceWatch
from connector.stream.progress.progress_record import Progress
from connector.stream.progress.stream_position import Instance
from connector.stream.run import run_errors
from connector.stream.sink.checks import check_limits
from connector.stream.sink.kafka_sink import KafkaSink, superseded_by
from connector.stream.sink.recovery import read_progress
from connector.stream.snapshot.copy_recovery import COPY_PEERS, CopyPeers
from connector.stream.source.server_selection import CheckedSource, choose_source


@dataclass(frozen=True, slots=True)
class Peers:
    """The functions that open connections to both."""

    open_sink: Callable[[Settings, Instance], KafkaSink]
    # Skips the servers that refused to continue, by their HOST:PORT.
    choose_source: Callable[
        [SourceSettings, Progress | None, Mapping[str, errors.SourceRefused]], CheckedSource
    ]
    # Watches the log of the chosen server until it is closed.
    watch_source: Callable[[SourceSettings, PipelineMetrics], Watch]
    # Watches Kafka from the first run on.
    watch_kafka: Callable[[KafkaSettings, PipelineMetrics], Watch]
    clock: Clock = CLOCK
    copying: CopyPeers = COPY_PEERS
    # Beginning at an offset; the function is called at each new request.
    listen: Callable[[KafkaSettings, str, int, Callable[[], None]], Listener] = RequestListener


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the runs of one process share."""

    settings: Settings
    instance: Instance
    metrics: PipelineMetrics
    peers: Peers
    # Of the schema registry, if the format of the records needs one.
    schema_ids: SchemaIds | None = None


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


# Between two looks at a source that is silent too long.
_SILENCE_LOOK_SECONDS = 0.2

PEERS = Peers(_open_sink, choose_source, SourceWatch, KafkaWatch)


def seconds_to_silence(silent_seconds: float) -> float:
    """Return how long a stream may wait before it looks whether the source is silent too long."""
    return max(0.0, SILENT_SECONDS - silent_seconds) + _SILENCE_LOOK_SECONDS


def check_silence(silent_seconds: float, metrics: PipelineMetrics, address: str) -> None:
    """Note in `metrics` that the source at `address` is silent for too long.

    Raises SourceUnavailable if other sessions hear it, so that only this connection is dead.
    """
    if silent_seconds <= SILENT_SECONDS:
        return
    if metrics.control.is_dead:
        raise errors.SourceUnavailable(run_errors.DEAD, address=address, seconds=silent_seconds)
    metrics.miss(
        errors.SourceUnavailable(run_errors.QUIET, address=address, seconds=silent_seconds)
    )


# How long to wait until an instance that took over has named itself. It does so before it reads
# from the source. After it has fenced this one in Kafka, it first checks progress and source; this
# one can write nothing meanwhile.
_COLLISION_SECONDS = 3.0
_FENCE_SECONDS = 20.0
# If Kafka has probably aborted a transaction that took too long. Should another instance have taken
# over as well, one of the two ends later.
_OUTLASTED_SECONDS = 5.0


def raise_if_superseded(
    error: errors.ConnectorError,
    sink: KafkaSink,
    instance: Instance,
    metrics: PipelineMetrics,
    *,
    outlasted: bool = False,
) -> None:
    """Raise Superseded if `error` came because another instance took over from `instance`.

    `outlasted` says that a transaction was open for longer than Kafka allows.
    """
    if error.code is answer_errors.SAME_SERVER_ID:
        patience_seconds = _COLLISION_SECONDS
    elif isinstance(error, errors.SinkUnavailable) and error.superseded:
        patience_seconds = _OUTLASTED_SECONDS if outlasted else _FENCE_SECONDS
    elif isinstance(error, errors.SourceUnavailable) and not error.answered:
        patience_seconds = 0.0
    else:
        return
    if instance.claimed and not metrics.kafka.lost:
        with suppress(errors.SinkUnavailable):
            sink.require_sole(patience_seconds)
