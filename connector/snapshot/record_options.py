"""The settings of a pipeline become the options of its records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from connector.contract import EXACT
from connector.contract.version import VERSION
from connector.envelope.debezium.form import DebeziumForm
from connector.envelope.options import EnvelopeOptions
from connector.errors import ConfigError, pipeline_settings
from connector.source.server.column_choice import column_choice
from connector.source.server.outbox_form import outbox_form
from connector.source.server.table_topics import table_topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.envelope.registered.schema_ids import SchemaIds
    from connector.settings.envelope import EnvelopeSettings
    from connector.settings.sections import Settings


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


def debezium_form(settings: EnvelopeSettings) -> DebeziumForm | None:
    """Return the form with the filters of the settings; None for the profile `exact`.

    Raises ConfigError for a condition that cannot be evaluated here.
    """
    form = DebeziumForm.of_options(settings.of_debezium)
    if form is None or not settings.filters:
        return form
    from connector.snapshot.row_filters import (  # noqa: PLC0415  # takes long to import
        ConditionFilters,
    )

    return replace(form, filters=ConditionFilters(settings.filters))


def require_same_profile(settings: Settings, schemas: Mapping[str, bytes]) -> None:
    """Raise ConfigError if the topics have records of another profile; `schemas` were recovered."""
    record = next(iter(schemas.values()), None)
    if record is None:
        return
    before = json.loads(record).get("profile", EXACT)
    if before != settings.envelope.profile:
        raise ConfigError(
            pipeline_settings.PROFILE_CHANGED,
            now=settings.envelope.profile,
            before=before,
            prefix=settings.kafka.topic_prefix,
        )
