"""Another instance of the pipeline that took over, and shows only as an error of source or Kafka.

The new instance reads under the same server id, so the source disconnects the older reader: it
blames the id, or closes the connection silently. Kafka fences the older producer before the new
instance has named itself.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from connector.errors import ConnectorError, SinkUnavailable, SourceUnavailable, source_dump

if TYPE_CHECKING:
    from connector.metrics.figures import Figures
    from connector.progress.stream_position import Instance
    from connector.sink.kafka_sink import KafkaSink

# How long to wait until an instance that took over has named itself. It does so before it reads
# from the source. After it has fenced this one in Kafka, it first checks progress and source; this
# one can write nothing meanwhile.
_COLLISION_SECONDS = 3.0
_FENCE_SECONDS = 20.0
# If Kafka has probably aborted a transaction that took too long. Should another instance have taken
# over as well, one of the two ends later.
_OUTLASTED_SECONDS = 5.0


def look_for_successor(
    error: ConnectorError,
    sink: KafkaSink,
    instance: Instance,
    figures: Figures,
    *,
    outlasted: bool = False,
) -> None:
    """Raise Superseded if `error` came because another instance took over from `instance`.

    `outlasted` says that a transaction was open for longer than Kafka allows.
    """
    if error.code is source_dump.SAME_SERVER_ID:
        patience_seconds = _COLLISION_SECONDS
    elif isinstance(error, SinkUnavailable) and error.superseded:
        patience_seconds = _OUTLASTED_SECONDS if outlasted else _FENCE_SECONDS
    elif isinstance(error, SourceUnavailable) and not error.answered:
        patience_seconds = 0.0
    else:
        return
    if instance.claimed and not figures.kafka.lost:
        with suppress(SinkUnavailable):
            sink.require_sole(patience_seconds)
