"""Which notifications a snapshot has, beside those that Debezium documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import KafkaSettings, NotificationSettings, Settings
from connector.stream.snapshot.notifications import (
    FAILED,
    SKIPPED,
    NotificationWriter,
    SnapshotNotifications,
)
from connector.stream.snapshot.table_state import TableState
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from collections.abc import Iterable

NOW_MS = 1_695_817_046_353


class Told:
    """Copies of tables of `shop`, and what is told of them."""

    def __init__(self, *tables: str, reason: str = "start", id_: str = "") -> None:
        """Begin to copy tables."""
        self.target = Collected()
        settings = Settings.model_construct(
            kafka=KafkaSettings.model_construct(topic_prefix="my-connector"),
            notifications=NotificationSettings(kafka_topic="told"),
        )
        clock = Clock(lambda: 0.0, lambda: NOW_MS * 1_000_000)
        self.states: dict[str, TableState] = {}
        self.told = SnapshotNotifications(
            NotificationWriter(settings, self.target, clock), self.states
        )
        names = [("shop", table) for table in tables]
        snapshot = self.told.start(names, id_, initial=reason == "start")
        for table in tables:
            state = TableState("shop", table, "copying", reason, rows=5, snapshot=snapshot)
            self.states[table] = state

    def end(self, table: str, status: str = "") -> None:
        """End the copy of a table."""
        self.states[table].phase = "failed" if status else "complete"
        self.told.end(self.states[table], status)
        self.told.settle()

    def values(self) -> list[dict[str, Any]]:
        """Return the values of the records."""
        return [json.loads(record.value or b"") for record in self.target.records]

    def kinds(self) -> list[str]:
        """Return the types of the notifications."""
        return [value["type"] for value in self.values()]

    def data(self) -> dict[str, str]:
        """Return the additional data of the last one."""
        found: dict[str, str] = self.values()[-1]["additional_data"]
        return found


def test_a_notification_has_the_documented_form() -> None:
    told = Told("t")
    told.end("t")
    record = told.target.records[-1]
    value = told.values()[-1]
    assert (record.topic, json.loads(record.key or b"")) == ("told", {"id": value["id"]})
    assert value == {
        "id": value["id"],
        "type": "COMPLETED",
        "aggregate_type": "Initial Snapshot",
        "additional_data": {"connector_name": "my-connector"},
        "timestamp": NOW_MS,
    }
    assert record.timestamp_ms == NOW_MS
    assert len({each["id"] for each in told.values()}) == len(told.values())


def test_an_initial_snapshot_ends_with_its_last_table() -> None:
    told = Told("a", "b")
    told.told.begin(told.states["a"])
    assert told.data() == {
        "connector_name": "my-connector",
        "data_collections": "shop.a,shop.b",
        "current_collection_in_progress": "shop.a",
    }
    told.told.go_on(told.states["a"], {"last_processed_key": "7"})
    told.end("a")
    assert told.data() == {
        "connector_name": "my-connector",
        "data_collections": "shop.a,shop.b",
        "scanned_collection": "shop.a",
        "total_rows_scanned": "5",
        "status": "SUCCEEDED",
    }
    told.end("b")
    kinds = ["STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "TABLE_SCAN_COMPLETED", "COMPLETED"]
    assert told.kinds() == kinds


def test_an_initial_snapshot_without_the_rows_of_a_table_was_aborted() -> None:
    told = Told("a", "b")
    told.end("a", FAILED)
    assert told.data()["status"] == "SQL_EXCEPTION"
    told.end("b")
    kinds = ["STARTED", "TABLE_SCAN_COMPLETED", "TABLE_SCAN_COMPLETED", "ABORTED"]
    assert told.kinds() == kinds
    assert told.data() == {"connector_name": "my-connector"}
    # That of a signal is complete: its tables have a status each.
    asked = Told("a", "b", reason="signal 0")
    asked.end("a", FAILED)
    asked.end("b")
    assert asked.kinds()[-1] == "COMPLETED"


def test_an_incremental_snapshot_has_the_id_of_its_signal() -> None:
    told = Told("a", "b", reason="signal 0", id_="ad-hoc")
    assert told.data()["data_collections"] == "shop.a,shop.b"
    told.told.begin(told.states["a"])
    told.told.pause(paused=True)
    told.told.pause(paused=False)
    assert told.data() == {
        "connector_name": "my-connector",
        "data_collections": "shop.a,shop.b",
    }
    told.told.go_on(told.states["a"], {"maximum_key": "9", "last_processed_key": "7"})
    assert told.data() == {
        "connector_name": "my-connector",
        "data_collections": "shop.a,shop.b",
        "current_collection_in_progress": "shop.a",
        "maximum_key": "9",
        "last_processed_key": "7",
    }
    told.end("a")
    told.states["b"].rows = 0
    told.end("b")
    assert told.values()[-2]["additional_data"] == {
        "connector_name": "my-connector",
        "data_collections": "shop.b",
        "scanned_collection": "shop.b",
        "total_rows_scanned": "0",
        "status": "EMPTY",
    }
    assert {value["aggregate_type"] for value in told.values()} == {"Incremental Snapshot"}
    assert {value["id"] for value in told.values()} == {"ad-hoc"}
    assert told.kinds() == [
        "STARTED",
        "PAUSED",
        "RESUMED",
        "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED",
        "TABLE_SCAN_COMPLETED",
        "COMPLETED",
    ]


@pytest.mark.parametrize(
    ("stopped", "data", "kinds"),
    [
        (["a"], {"data_collections": "shop.a"}, ["TABLE_SCAN_COMPLETED", "COMPLETED"]),
        (["a", "b"], {}, []),
    ],
)
def test_what_is_stopped_is_aborted(
    stopped: Iterable[str], data: dict[str, str], kinds: list[str]
) -> None:
    told = Told("a", "b", reason="request 7")
    states = [told.states[table] for table in stopped]
    for state in states:
        state.phase = "failed"
    told.told.abort(states, some=bool(data))
    told.told.settle()
    assert told.data() == data | {"connector_name": "my-connector"}
    if kinds:
        told.end("b", SKIPPED)
    assert told.kinds() == ["STARTED", "ABORTED", *kinds]


def test_a_start_without_copies_is_told() -> None:
    told = Told("t")
    told.told.skip()
    assert told.kinds() == ["STARTED"]
    told.end("t")
    told.told.skip()
    assert told.kinds()[-1] == "SKIPPED"


def test_notifications_go_to_the_log_alone_or_nowhere() -> None:
    target = Collected()
    kafka = KafkaSettings.model_construct(topic_prefix="shop")
    clock = Clock(lambda: 0.0, lambda: 0)
    for log in (False, True):
        settings = Settings.model_construct(
            kafka=kafka, notifications=NotificationSettings(log=log)
        )
        told = SnapshotNotifications(NotificationWriter(settings, target, clock), {})
        with capture_logs() as lines:
            assert bool(told.start([("shop", "t")], initial=False)) == log
            told.end(TableState("shop", "t"))
            told.settle()
        assert [line["type"] for line in lines] == (["STARTED"] if log else [])
    assert target.records == []
