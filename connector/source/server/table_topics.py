"""The settings of the envelope become the topics of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.envelope.topics import Route, Topics

if TYPE_CHECKING:
    from connector.settings.routing import RouteSettings
    from connector.settings.sections import Settings


def table_topics(settings: Settings) -> Topics:
    """Return the topics that the settings choose."""
    return Topics(settings.kafka.topic_prefix, tuple(map(_route, settings.envelope.routes)))


def _route(settings: RouteSettings) -> Route:
    database, _, table = settings.tables.partition(".")
    return Route(database, table, settings.topic, settings.key_field)
