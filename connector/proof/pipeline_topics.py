"""The topics of a prefix, and which of them hold the rows of followed tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from connector.sink import attempts
from connector.sink.connection import client_settings, connector_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.changes.table_filter import TableFilter
    from connector.envelope.debezium.outbox_form import OutboxForm
    from connector.envelope.topics import Topics
    from connector.settings.sections import KafkaSettings
    from connector.sink.clients import KafkaClients

_POLICY = "cleanup.policy"


def topics_with_rows(topics: Topics, tables: TableFilter, names: Iterable[str]) -> set[str]:
    """Return the topics of the followed tables among `names`, which have had rows."""
    return {
        topics.of(database, table)
        for database, _, table in (name.partition(".") for name in names)
        if tables.follows(database, table)
    }


def shared_topics(
    topics: Topics, names: Iterable[str], outbox: OutboxForm | None, own: Iterable[str]
) -> frozenset[str]:
    """Return the topics to which other pipelines may write, too: those of routes and of events.

    `names` are the tables that have had rows, `own` the topics that the pipeline may write to.
    """
    events = () if outbox is None else filter(outbox.may_have, own)
    places = (name.partition(".") for name in names)
    found = ((topics.route(place[0], place[2]), place) for place in places)
    return frozenset(events) | {
        route.of(place[0], place[2]) for route, place in found if route is not None
    }


def followed_topics(
    prefix: str, existing: dict[str, bool], tables: TableFilter, known: set[str]
) -> list[str]:
    """Return the topics of followed tables, and that of DDL; `known` as `topics_with_rows`."""
    found = [prefix] if prefix in existing else []
    for topic in existing:
        database, _, table = topic.removeprefix(f"{prefix}.").partition(".")
        if topic in known or (table and "." not in table and tables.follows(database, table)):
            found.append(topic)
    return found


def topics_of(
    settings: KafkaSettings,
    clients: KafkaClients,
    known: set[str],
    outbox: OutboxForm | None = None,
) -> dict[str, bool]:
    """Return the topics of the prefix and those of `known`, and whether Kafka compacts them.

    Those of the events of `outbox` are among them, and are added to `known`.

    Raises SinkUnavailable or SinkRefused.
    """
    prefix = settings.topic_prefix
    try:
        admin = clients.open_admin(**client_settings(settings))
        try:
            existing = admin.list_topics()
            if outbox is not None:
                known.update(filter(outbox.may_have, existing))
            names = [
                name for name in existing if name in known or f"{name}.".startswith(f"{prefix}.")
            ]
            return _compacted(admin, names)
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.reading(prefix), error) from error


def _compacted(admin: Any, names: list[str]) -> dict[str, bool]:
    asked = [ConfigResource(ConfigResourceType.TOPIC, name, {_POLICY: None}) for name in names]
    if not asked:
        return {}
    (found,) = admin.describe_configs(asked, config_filter="all").values()
    # A topic whose settings the account may not see has none here. Then a record that Kafka has
    # compacted away counts as missing.
    return {name: "compact" in str(found[name].get(_POLICY, {}).get("value")) for name in names}
