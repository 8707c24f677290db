"""Signals that pause copies."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import (
    KafkaSettings,
    NotificationSettings,
    Settings,
    SnapshotSettings,
)
from connector.stream.envelope.key_windows import KeyWindows
from connector.stream.metrics.control import Control
from connector.stream.snapshot.copies import Copies
from connector.stream.snapshot.notifications import NotificationWriter
from connector.stream.snapshot.table_state import TableState
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from connector.foundation.kafka_records import Record


def copies_of(control: Control) -> tuple[Copies, list[Record]]:
    """Return the copies of one run, and the records of its notifications."""
    target = Collected()
    settings = Settings.model_construct(
        kafka=KafkaSettings.model_construct(topic_prefix="p"),
        notifications=NotificationSettings(kafka_topic="told"),
    )
    clock = Clock(lambda: 0.0, lambda: 0)
    output = SimpleNamespace(
        notifications=NotificationWriter(settings, target, clock), seconds=0.0, watch=KeyWindows()
    )
    chosen = SimpleNamespace(
        snapshot=SnapshotSettings(),
        source=SimpleNamespace(start="latest"),
        quarantine=SimpleNamespace(policy="stop"),
    )
    state = TableState("shop", "orders", "copying", "signal 1", snapshot="ad-hoc")
    backlog = SimpleNamespace(queue=None, cascades=None)
    making: Any = Copies
    return making(output, None, backlog, chosen, [state], control), target.records


def test_a_run_that_takes_a_signal_up_again_tells_of_it_again() -> None:
    control = Control()
    first, _ = copies_of(control)
    first.pause(paused=True)
    # Kafka aborts the transaction with the notification. The process still reads no rows.
    again, records = copies_of(control)
    again.pause(paused=True)
    assert control.copies_paused
    assert [json.loads(record.value or b"")["type"] for record in records] == ["PAUSED"]
