"""Builds guard, copied rows and keeper from settings and recovered fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import QUARANTINE_TOPIC_SUFFIX, control_topic
from connector.quarantine.core.copied_rows import CopiedRows
from connector.quarantine.core.fences import Fences
from connector.quarantine.core.guard import STOP, Guard
from connector.quarantine.core.store import QuarantineStore
from connector.quarantine.keeper import QuarantineKeeper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.binlog.decoder import EventDecoder
    from connector.changes.stream_listener import StreamListener
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.record_encoder import RecordEncoder
    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import Settings
    from connector.sink.kafka_sink import KafkaSink
    from connector.system.clock import Clock


def open_quarantine(
    settings: Settings,
    recovered: Mapping[str, bytes],
    options: EnvelopeOptions,
    encoder: RecordEncoder,
    decoder: EventDecoder,
    standing: StreamPosition,
    sink: KafkaSink,
    clock: Clock,
    listener: StreamListener,
) -> tuple[Guard | None, CopiedRows, QuarantineKeeper]:
    """Return the guard of changes, that of copied rows, and the keeper.

    There is no guard if no setting asks for fences, and no fence exists. `listener` gets new
    fences. Raises DecodeError for a fence of another version.
    """
    fences = Fences(options.prefix, settings.name, sink.target, recovered, listener)
    keeper = QuarantineKeeper(
        settings.kafka, settings.name, fences, encoder, standing, sink.clients, clock
    )
    policy = settings.quarantine.policy
    topic = control_topic(options.prefix, QUARANTINE_TOPIC_SUFFIX)
    record_bytes_max = min(settings.kafka.record_bytes_max, sink.bytes_max(topic))
    store = QuarantineStore(options, settings.name, encoder, decoder, sink.target, record_bytes_max)
    copied = CopiedRows(policy, fences, store)
    fences_rewritten = settings.schema.on_rewrite == "fence"
    if policy == STOP and not fences_rewritten and not fences.any:
        return None, copied, keeper
    return Guard(policy, encoder, fences, store), copied, keeper
