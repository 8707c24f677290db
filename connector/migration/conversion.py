"""The properties of a connector become the keys of a configuration."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from connector.migration.choices import convert_choices
from connector.migration.draft import Draft
from connector.migration.kafka_keys import convert_kafka
from connector.migration.known_properties import NO_COUNTERPART, NOT_NEEDED
from connector.migration.record_keys import convert_records
from connector.migration.signal_keys import convert_notifications, convert_signals
from connector.migration.source_keys import convert_source

if TYPE_CHECKING:
    from connector.migration.connector_file import ConnectorFile

_MS: Final = 1000
# What a pipeline without offsets does.
_STARTS: Final = {
    "initial": "snapshot",
    "always": "snapshot",
    "when_needed": "snapshot",
    "no_data": "latest",
    "schema_only": "latest",
    "never": "earliest",
}


def converted(
    connector: ConnectorFile, *, bootstrap_servers: str, secrets: bool, start: str
) -> Draft:
    """Return the configuration of a pipeline that does what the connector does.

    `bootstrap_servers` replaces what the connector says; "" does not. With `secrets`, passwords are
    copied. `start` is the position of the connector, "" without offsets. Raises ConfigError for
    what would follow other tables or write other records.
    """
    draft = Draft(connector)
    draft.set("name", connector.name, f"name = {connector.name}")
    convert_source(draft, secrets=secrets)
    _convert_start(draft, start)
    convert_choices(draft)
    convert_kafka(draft, bootstrap_servers, secrets=secrets)
    convert_records(draft)
    _convert_delivery(draft)
    convert_signals(draft)
    convert_notifications(draft)
    for name in list(draft.left):
        _convert_rest(draft, name)
    return draft


def _convert_start(draft: Draft, start: str) -> None:
    mode = draft.pop("snapshot.mode")
    if start:
        draft.set("source.start", start, "from the offsets of the connector, once")
        if mode is not None:
            draft.not_needed("snapshot.mode", "the stream goes on after the offsets")
        return
    name = "snapshot.mode"
    text = mode or "initial"
    draft.take(name, "source.start", draft.one_of(name, text, _STARTS), text)
    draft.number("snapshot.max.threads", "snapshot.connections")


def _convert_delivery(draft: Draft) -> None:
    draft.flag("provide.transaction.metadata", "delivery.transaction_records")
    draft.number("heartbeat.interval.ms", "delivery.heartbeat_interval_seconds", _MS)
    _convert_heartbeat_query(draft)


def _convert_heartbeat_query(draft: Draft) -> None:
    name = "heartbeat.action.query"
    statement = draft.pop(name)
    if statement is None:
        return
    if draft.value("delivery.heartbeat_interval_seconds"):
        draft.take(name, "source.heartbeat_statement", statement)
    else:
        draft.not_needed(name, "without heartbeat.interval.ms it is never executed")


def _convert_rest(draft: Draft, name: str) -> None:
    for known, say in ((NOT_NEEDED, draft.not_needed), (NO_COUNTERPART, draft.no_counterpart)):
        for pattern, text in known.items():
            if fnmatchcase(name, pattern):
                say(name, text)
                return
    draft.unknown(name)
