"""Properties of signals and notifications become keys of `[signals]` and `[notifications]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.changes.table_filter import TableFilter
from connector.migration.patterns import split_list

if TYPE_CHECKING:
    from connector.migration.draft import Draft

_SIGNALS: Final = "signal.enabled.channels"
_SIGNAL_TABLE: Final = "signal.data.collection"
_SIGNAL_TOPIC: Final = "signal.kafka.topic"
_SIGNAL_SERVERS: Final = "signal.kafka.bootstrap.servers"
_SIGNAL_FILE: Final = "signal.file"
_NOTIFICATIONS: Final = "notification.enabled.channels"
_NOTIFICATION_TOPIC: Final = "notification.sink.topic.name"
_OFF: Final = "its channel is not enabled"


def convert_signals(draft: Draft) -> None:
    """Convert the channels; raises ConfigError for a reference that only Connect can look up."""
    channels = _channels(draft, _SIGNALS, "source")
    table = draft.pop(_SIGNAL_TABLE)
    if table is not None and "source" in channels:
        draft.take(_SIGNAL_TABLE, "signals.table", table)
        _follow(draft, table)
    elif table is not None:
        draft.not_needed(_SIGNAL_TABLE, _OFF)
    topic = draft.pop(_SIGNAL_TOPIC)
    if "kafka" in channels:
        prefix = draft.value("kafka.topic_prefix")
        draft.take(_SIGNAL_TOPIC, "signals.kafka_topic", topic or f"{prefix}-signal")
        servers = draft.left.get(_SIGNAL_SERVERS)
        if servers is not None and split_list(servers) != draft.value("kafka.bootstrap_servers"):
            draft.no_counterpart(_SIGNAL_SERVERS, "signals are read from kafka.bootstrap_servers")
    elif topic is not None:
        draft.not_needed(_SIGNAL_TOPIC, _OFF)
    file = draft.pop(_SIGNAL_FILE)
    if "file" in channels:
        draft.take(_SIGNAL_FILE, "signals.file", file or "file-signals.txt")
    elif file is not None:
        draft.not_needed(_SIGNAL_FILE, _OFF)
    for channel in channels:
        if channel not in ("source", "kafka", "file"):
            draft.no_counterpart(_SIGNALS, f"there is no channel {channel} here")


def convert_notifications(draft: Draft) -> None:
    """Convert the channels; raises as `convert_signals`."""
    channels = _channels(draft, _NOTIFICATIONS, "")
    topic = draft.pop(_NOTIFICATION_TOPIC)
    if topic is not None and "sink" in channels:
        draft.take(_NOTIFICATION_TOPIC, "notifications.kafka_topic", topic)
    elif topic is not None:
        draft.not_needed(_NOTIFICATION_TOPIC, _OFF)
    if "log" in channels:
        draft.set("notifications.log", True, f"{_NOTIFICATIONS} has log")
    for channel in channels:
        if channel not in ("sink", "log"):
            draft.no_counterpart(_NOTIFICATIONS, f"there is no channel {channel} here")


def _channels(draft: Draft, name: str, default: str) -> list[str]:
    return split_list(draft.pop(name) or default)


def _follow(draft: Draft, table: str) -> None:
    """Follow the table of signals, which Debezium reads whatever the lists of tables say."""
    patterns = draft.value("source.tables")
    assert isinstance(patterns, list)
    database, _, name = table.partition(".")
    if not TableFilter(patterns).follows(database, name):
        said = f"{_SIGNAL_TABLE} = {table} is followed, too"
        draft.set("source.tables", [*patterns, table], said)
