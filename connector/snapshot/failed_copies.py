"""The results of copies, read by other programs than the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import SNAPSHOT_TOPIC_SUFFIX
from connector.sink.recovery import read_latest
from connector.snapshot.table_state import TableState

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings


def copy_has_failed(settings: KafkaSettings, pipeline: str, name: str) -> bool:
    """Return whether the last copy of all rows of the table `name` has failed.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a state of another version.
    """
    value = read_latest(settings, SNAPSHOT_TOPIC_SUFFIX, pipeline).get(name)
    return value is not None and TableState.decode(value, f"{pipeline}/{name}").phase == "failed"
