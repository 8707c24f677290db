"""Notifications of snapshots in Debezium's format, to a topic and to the log.

::

    key    {"id": "5563ae14-…"}
    value  {"id": "5563ae14-…", "type": "COMPLETED", "aggregate_type": "Initial Snapshot",
            "additional_data": {"connector_name": "shop"}, "timestamp": 1700000000000}

A record is in the Kafka transaction of the event that it reports.

A snapshot is one or more tables whose copies began together. It has STARTED, then for each table
IN_PROGRESS and TABLE_SCAN_COMPLETED, and COMPLETED or ABORTED after the last table. The copies at
the start of a pipeline are an initial snapshot, and so are copies for which the stream waits, as
with Debezium. All others are incremental.

https://debezium.io/documentation/reference/stable/configuration/notification.html
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import Settings
from connector.stream.snapshot.table_state import AT_START, TableState

INITIAL: Final = "Initial Snapshot"
INCREMENTAL: Final = "Incremental Snapshot"


class NotificationWriter:
    """Writes notifications where the settings want them."""

    def __init__(self, settings: Settings, target: RecordTarget, clock: Clock) -> None:
        self._topic = settings.notifications.kafka_topic
        self._logs = settings.notifications.log
        self._connector = settings.kafka.topic_prefix
        self._target = target
        self._clock = clock

    @property
    def wanted(self) -> bool:
        return self._logs or self._topic is not None

    def write(self, id_: str, aggregate: str, kind: str, data: dict[str, str]) -> None:
        """Write one; `data` is its additional_data. Raises the errors of the target."""
        data = data | {"connector_name": self._connector}
        if self._logs:
            structlog.get_logger().info(
                "a notification", id=id_, aggregate_type=aggregate, type=kind, additional_data=data
            )
        if self._topic is not None:
            now_ms = self._clock.now_ms()
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


FAILED: Final = "SQL_EXCEPTION"
# A table that is not followed.
UNKNOWN: Final = "UNKNOWN_SCHEMA"
# A table that was dropped, or whose copy gave way to another one.
SKIPPED: Final = "SKIPPED"


class SnapshotNotifications:
    """Tells how snapshots go; a snapshot without an id is not told."""

    def __init__(self, notifications: NotificationWriter, states: Mapping[str, TableState]) -> None:
        """Tell by `notifications`; `states` are those of all copies, and change."""
        self._notifications = notifications
        self._states = states
        # Those in which a table has ended since `settle`, and what they are.
        self._ended: dict[str, str] = {}

    @property
    def wanted(self) -> bool:
        return self._notifications.wanted

    def start(self, tables: Iterable[tuple[str, str]], id_: str = "", *, initial: bool) -> str:
        """Tell that a snapshot of `tables` begins; return its id, "" if nothing is told."""
        if not self.wanted:
            return ""
        id_ = id_ or str(uuid.uuid4())
        aggregate = INITIAL if initial else INCREMENTAL
        names = ",".join(f"{database}.{table}" for database, table in tables)
        data = {"data_collections": names} if aggregate is INCREMENTAL else {}
        self._notify(id_, aggregate, "STARTED", data)
        return id_

    def skip(self) -> None:
        """Tell that no initial snapshot begins, unless one goes on."""
        goes_on = any(
            state.under_way and state.reason == AT_START for state in self._states.values()
        )
        if self.wanted and not goes_on:
            self._notify("", INITIAL, "SKIPPED", {})

    def begin(self, state: TableState) -> None:
        """Tell that the first rows of a table are read; incremental ones are told as they come."""
        self._in_progress(state, INITIAL, {})

    def go_on(self, state: TableState, keys: Mapping[str, str]) -> None:
        """Tell that rows were written, with the `maximum_key` and the `last_processed_key`."""
        self._in_progress(state, INCREMENTAL, keys)

    def _in_progress(self, state: TableState, aggregate: str, keys: Mapping[str, str]) -> None:
        if state.snapshot and _aggregate(state) is aggregate:
            data = self._collections(state) | {"current_collection_in_progress": state.name}
            self._notify(state.snapshot, aggregate, "IN_PROGRESS", data | dict(keys))

    def end(self, state: TableState, status: str = "") -> None:
        """Tell that the copy of a table has ended; without a `status`, all its rows were read."""
        if not state.snapshot:
            return
        aggregate = _aggregate(state)
        if not status:
            is_empty = aggregate is INCREMENTAL and not state.rows + state.kept_back
            status = "EMPTY" if is_empty else "SUCCEEDED"
        data = self._collections(state) | {
            "scanned_collection": state.name,
            "total_rows_scanned": str(state.rows),
            "status": status,
        }
        self._notify(state.snapshot, aggregate, "TABLE_SCAN_COMPLETED", data)
        self._ended[state.snapshot] = aggregate

    def abort(self, states: Iterable[TableState], *, some: bool) -> None:
        """Tell that the copies of these tables were stopped; with `some`, by their names."""
        stopped: dict[str, list[TableState]] = {}
        for state in states:
            stopped.setdefault(state.snapshot, []).append(state)
        stopped.pop("", None)
        for id_, members in stopped.items():
            names = ",".join(state.name for state in members)
            data = {"data_collections": names} if some else {}
            self._notify(id_, _aggregate(members[0]), "ABORTED", data)

    def pause(self, *, paused: bool) -> None:
        """Tell that incremental snapshots pause, or go on."""
        going: dict[str, TableState] = {
            state.snapshot: state
            for state in self._states.values()
            if state.snapshot and state.under_way and _aggregate(state) is INCREMENTAL
        }
        for id_, state in going.items():
            kind = "PAUSED" if paused else "RESUMED"
            self._notify(id_, INCREMENTAL, kind, self._collections(state))

    def settle(self) -> None:
        """Tell which snapshots are complete; call it before what has ended may be committed.

        An initial snapshot without the rows of a table was aborted, as with Debezium. The tables
        of an incremental one have a status each.
        """
        if not self._ended:
            return
        going = {state.snapshot for state in self._states.values() if state.under_way}
        failed = {state.snapshot for state in self._states.values() if state.phase == "failed"}
        for id_, aggregate in self._ended.items():
            if id_ not in going:
                lacks = aggregate is INITIAL and id_ in failed
                self._notify(id_, aggregate, "ABORTED" if lacks else "COMPLETED", {})
        self._ended.clear()

    def _collections(self, state: TableState) -> dict[str, str]:
        """Return the tables of a snapshot; of an incremental one, those that have not ended."""
        all_count = _aggregate(state) is INITIAL
        names = dict.fromkeys(
            other.name
            for other in self._states.values()
            if other.snapshot == state.snapshot and (all_count or other.under_way or other is state)
        )
        return {"data_collections": ",".join(names)}

    def _notify(self, id_: str, aggregate: str, kind: str, data: dict[str, str]) -> None:
        # Those of an initial snapshot have an id each, as Debezium's.
        unique = id_ if aggregate is INCREMENTAL else str(uuid.uuid4())
        self._notifications.write(unique, aggregate, kind, data)


def _aggregate(state: TableState) -> str:
    return INITIAL if state.reason == AT_START or state.together else INCREMENTAL
