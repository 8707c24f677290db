"""What is chosen for outbox tables: the options of Debezium's EventRouter."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class OutboxForm:
    """The columns of outbox tables, and what an event becomes."""

    tables: tuple[str, ...]  # database.table, with `*`, `?` and `[...]`
    id: str = "id"
    key: str = "aggregateid"
    payload: str = "payload"
    route_by: str = "aggregatetype"
    topic: str = "outbox.event.{value}"  # {value} stands for that of the column `route_by`
    headers: tuple[tuple[str, str], ...] = ()  # columns, and the names of their headers
    key_format: str = "json"  # json, json_with_schema or plain
    value_format: str = "json"
    stops_at_updates: bool = False
    expands_payload: bool = False  # whether a JSON text is the value that it says

    def takes(self, database: str, table: str) -> bool:
        """Return whether a table is an outbox."""
        parts = (each.partition(".") for each in self.tables)
        return any(
            fnmatchcase(database, first) and fnmatchcase(table, last) for first, _, last in parts
        )

    def may_have(self, topic: str) -> bool:
        """Return whether events may be in a topic."""
        before, is_any, after = self.topic.partition("{value}")
        if not is_any:
            return topic == before
        length = len(before) + len(after)
        return len(topic) > length and topic.startswith(before) and topic.endswith(after)
