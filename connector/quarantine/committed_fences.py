"""Reads the fences of a pipeline from Kafka, for other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import FENCES_TOPIC_SUFFIX
from connector.quarantine.core.fences import Fence
from connector.sink.recovery import read_latest

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings


def read_fences(settings: KafkaSettings, pipeline: str) -> list[Fence]:
    """Return the fences of a pipeline, the oldest first.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    values = read_latest(settings, FENCES_TOPIC_SUFFIX, pipeline)
    fences = [Fence.decode(value, f"{pipeline}/{name}") for name, value in values.items()]
    return sorted(fences, key=lambda fence: fence.since_seq)
