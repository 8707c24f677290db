"""The options that all records of one pipeline share: topics and routes, outbox tables, profile.

Rows of a table go to its own topic, or to one to which a route sends several tables. A route is
what Debezium's ByLogicalTableRouter does. The names of topics are composed here alone. Outbox
tables have the options of Debezium's EventRouter.

https://debezium.io/documentation/reference/stable/transformations/topic-routing.html
"""

from dataclasses import dataclass
from typing import Final

from connector.foundation.contract import row_topic, topic_part
from connector.foundation.errors import UnsupportedChange
from connector.foundation.record_formats import SubjectStrategy
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.debezium.registry_schemas import SchemaIds
from connector.stream.envelope.schemas.column_rules import ColumnRules, is_named

_DATABASE: Final = "{database}"
_TABLE: Final = "{table}"


@dataclass(frozen=True, slots=True)
class Route:
    """Sends the rows of some tables to another topic."""

    database: str  # these two with `*`, `?` and `[...]`
    table: str
    topic: str  # {database} and {table} stand for the names of the table
    key_field: str  # what keys have in addition: the topic that the table would have; "" for none
    # Whether the server takes names of tables for the same that differ in case.
    ignores_case: bool = False

    def takes(self, database: str, table: str) -> bool:
        """Return whether it sends the rows of a table."""
        return is_named(database, table, self.database, self.table, self.ignores_case)

    def of(self, database: str, table: str) -> str:
        """Return the topic of a table that it takes."""
        topic = self.topic.replace(_DATABASE, topic_part(database))
        return topic.replace(_TABLE, topic_part(table))


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of a pipeline's tables."""

    prefix: str
    routes: tuple[Route, ...] = ()  # of several for a table, the first one counts

    def route(self, database: str, table: str) -> Route | None:
        """Return the route of a table; None if it has a topic of its own."""
        for route in self.routes:
            if route.takes(database, table):
                return route
        return None

    def of(self, database: str, table: str) -> str:
        """Return the topic of a table's rows."""
        route = self.route(database, table) if self.routes else None
        if route is None:
            return row_topic(self.prefix, database, table)
        return route.of(database, table)


class TopicClaims:
    """Which table each topic belongs to: the first one that wants it.

    Kafka refuses a topic whose name differs from that of another one only in `.` and `_`, because
    both are `_` in the names of its figures.
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
    """

    def __init__(self, topics: Topics) -> None:
        """Let tables have the topics of `topics`."""
        self._topics = topics
        # The names under which the records of topics are counted: that of the table, or that of the
        # topic if a route sends tables there.
        self.names: dict[str, str] = {}
        self._alike: dict[str, str] = {}

    def of(self, database: str, table: str) -> str:
        """Return the topic of a table's rows.

        Raises UnsupportedChange for a topic that another table has, if no route wants that, and for
        one that Kafka takes for the topic of another table.
        """
        name = f"{database}.{table}"
        topic = self._topics.of(database, table)
        counted = name if self._topics.route(database, table) is None else topic
        other = self.names.get(topic)
        if other is None:
            like = self._alike.setdefault(topic.replace(".", "_"), topic)
            if like != topic:
                one = self.names[like]
                raise UnsupportedChange(
                    record_errors.TOPIC_ALIKE, one=one, other=name, topic=topic, like=like
                )
            self.names[topic] = counted
        elif other != counted:
            if topic in (other, counted):
                raise UnsupportedChange(record_errors.TOPIC_TAKEN, table=name, topic=topic)
            raise UnsupportedChange(record_errors.TOPIC_SHARED, one=other, other=name, topic=topic)
        return topic


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The facts that all records of one pipeline share."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    pipeline: str = ""  # its name
    tombstones: bool = True
    debezium: DebeziumProfile | None = None  # None: the profile `exact`
    columns: ColumnRules | None = None  # None: all columns, as they are
    routes: tuple[Route, ...] = ()  # of tables whose topics have other names
    outbox: "OutboxOptions | None" = None  # of tables whose rows are events
    # For the formats of a schema registry, and how its subjects are named.
    schema_ids: SchemaIds | None = None
    subjects: SubjectStrategy = "topic"

    @property
    def topics(self) -> Topics:
        """The topics of the tables."""
        return Topics(self.prefix, self.routes)

    def pipeline_header(self, database: str, table: str) -> str:
        """Return the name of the pipeline if others may write to the topic of a table; else ""."""
        is_event = self.outbox is not None and self.outbox.takes(database, table)
        is_routed = bool(self.routes) and self.topics.route(database, table) is not None
        return self.pipeline if is_event or is_routed else ""


@dataclass(frozen=True, slots=True)
class OutboxOptions:
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
    ignores_case: bool = False  # as in Route

    def takes(self, database: str, table: str) -> bool:
        """Return whether a table is an outbox."""
        parts = (pattern.partition(".") for pattern in self.tables)
        return any(
            is_named(database, table, first, last, self.ignores_case) for first, _, last in parts
        )

    def may_have(self, topic: str) -> bool:
        """Return whether events may be in a topic."""
        before, is_any, after = self.topic.partition("{value}")
        if not is_any:
            return topic == before
        length = len(before) + len(after)
        return len(topic) > length and topic.startswith(before) and topic.endswith(after)
