"""Which topic the rows of a table have: its own, or one to which a route sends several tables.

A route is what Debezium's ByLogicalTableRouter does. The names of topics are composed here alone.
https://debezium.io/documentation/reference/stable/transformations/topic-routing.html
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from connector.contract import row_topic, topic_part
from connector.errors import UnsupportedChange, table_schemas

_DATABASE: Final = "{database}"
_TABLE: Final = "{table}"


@dataclass(frozen=True, slots=True)
class Route:
    """Sends the rows of some tables to another topic."""

    database: str  # these two with `*`, `?` and `[...]`
    table: str
    topic: str  # {database} and {table} stand for the names of the table
    key_field: str  # what keys have in addition: the topic that the table would have; "" for none

    def takes(self, database: str, table: str) -> bool:
        """Return whether it sends the rows of a table."""
        return fnmatchcase(database, self.database) and fnmatchcase(table, self.table)

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
                    table_schemas.TOPIC_ALIKE, one=one, other=name, topic=topic, like=like
                )
            self.names[topic] = counted
        elif other != counted:
            if topic in (other, counted):
                raise UnsupportedChange(table_schemas.TOPIC_TAKEN, table=name, topic=topic)
            raise UnsupportedChange(table_schemas.TOPIC_SHARED, one=other, other=name, topic=topic)
        return topic
