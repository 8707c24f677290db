"""Converts the settings of a pipeline to the options of its records.

The options are columns, masks, topics, outbox tables and the profile. The envelope is compiled and
knows no settings; it gets these values.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from connector.foundation import VERSION
from connector.foundation.contract import EXACT
from connector.foundation.errors import ConfigError
from connector.foundation.settings import envelope
from connector.foundation.settings.sections import MaskSettings, Settings, SourceSettings
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.debezium.registry_schemas import SchemaIds
from connector.stream.envelope.options import EnvelopeOptions, OutboxOptions, Route, Topics
from connector.stream.envelope.schemas import column_rules
from connector.stream.source import setup_errors


def outbox_form(settings: envelope.OutboxSettings) -> OutboxOptions | None:
    """Return the form of outbox tables; None if there are none."""
    if not settings.tables:
        return None
    return OutboxOptions(
        tuple(settings.tables),
        settings.id,
        settings.key,
        settings.payload,
        settings.route_by,
        settings.topic_name,
        tuple(map(_outbox_header, settings.headers)),
        settings.key_format,
        settings.value_format,
        stops_at_updates=settings.on_update == "stop",
        expands_payload=settings.expand_payload,
        ignores_case=settings.ignores_case,
    )


def _outbox_header(text: str) -> tuple[str, str]:
    column, _, name = text.partition(":")
    return column, name or column


def column_choice(settings: SourceSettings) -> column_rules.ColumnRules | None:
    """Return what is chosen; None if records have all columns as they are."""
    if not (settings.columns or settings.exclude_columns or settings.masks):
        return None
    ignores_case = settings.ignores_case
    return column_rules.ColumnRules(
        _column_patterns(settings.columns, ignores_case=ignores_case),
        _column_patterns(settings.exclude_columns, ignores_case=ignores_case),
        [_column_rule(mask, ignores_case=ignores_case) for mask in settings.masks],
    )


def _column_patterns(
    texts: Iterable[str], *, ignores_case: bool
) -> tuple[column_rules.ColumnPattern, ...]:
    return tuple(column_rules.ColumnPattern.parse(text, ignores_case) for text in texts)


def _column_rule(mask: MaskSettings, *, ignores_case: bool) -> column_rules.ColumnRule:
    patterns = _column_patterns(mask.columns, ignores_case=ignores_case)
    if mask.chars is not None:
        return column_rules.ColumnRule(patterns, column_rules.MASK, mask.chars)
    if mask.truncate is not None:
        return column_rules.ColumnRule(patterns, column_rules.TRUNCATE, mask.truncate)
    algorithm = (mask.hash or "").replace("SHA3-", "SHA3_").replace("SHA-", "SHA").lower()
    salt = mask.salt.get_secret_value()
    return column_rules.ColumnRule(patterns, column_rules.HASH, 0, algorithm, salt, mask.version)


def table_topics(settings: Settings) -> Topics:
    """Return the topics that the settings choose."""
    return Topics(settings.kafka.topic_prefix, tuple(map(_route, settings.envelope.routes)))


def _route(settings: envelope.RouteSettings) -> Route:
    database, _, table = settings.tables.partition(".")
    return Route(database, table, settings.topic, settings.key_field, settings.ignores_case)


def record_options(
    settings: Settings, flavour: str, schema_ids: SchemaIds | None
) -> EnvelopeOptions:
    """Return the options for a source of `flavour`; a format of a registry needs `schema_ids`."""
    return EnvelopeOptions(
        prefix=settings.kafka.topic_prefix,
        connector=flavour,
        version=VERSION,
        pipeline=settings.name,
        tombstones=settings.kafka.tombstones,
        debezium=debezium_form(settings.envelope),
        columns=column_choice(settings.source),
        routes=table_topics(settings).routes,
        outbox=outbox_form(settings.envelope.outbox),
        schema_ids=schema_ids,
        subjects=settings.registry.subject_strategy,
    )


def debezium_form(settings: envelope.EnvelopeSettings) -> DebeziumProfile | None:
    """Return the form with the filters of the settings; None for the profile `exact`.

    Raises ConfigError for a condition that cannot be evaluated here.
    """
    form = DebeziumProfile.of_options(settings.of_debezium)
    if form is None or not settings.filters:
        return form
    from connector.stream.source.row_filters import ConditionFilters  # noqa: PLC0415

    return replace(form, filters=ConditionFilters(settings.filters))


def require_same_profile(settings: Settings, schemas: Mapping[str, bytes]) -> None:
    """Raise ConfigError if the topics have records of another profile; `schemas` were recovered."""
    record = next(iter(schemas.values()), None)
    if record is None:
        return
    before = json.loads(record).get("profile", EXACT)
    if before != settings.envelope.profile:
        raise ConfigError(
            setup_errors.PROFILE_CHANGED,
            now=settings.envelope.profile,
            before=before,
            prefix=settings.kafka.topic_prefix,
        )
