"""The settings that choose the form of rows in Kafka: `[envelope]`."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from connector.contract.record_formats import KeyFormat, ValueFormat
from connector.errors import settings_choices as codes
from connector.settings.files import UnfitValueError
from connector.settings.routing import FilterSettings, OutboxSettings, RouteSettings
from connector.settings.values import ColumnPattern, FlatField, MessageKey


class EnvelopeSettings(BaseModel):
    """How rows look in Kafka."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: Literal["exact", "debezium"] = "exact"
    # All others are for the profile `debezium`; the comments name Debezium's option.
    # decimal.handling.mode
    decimals: Literal["precise", "string", "double"] = "precise"
    # time.precision.mode
    times: Literal[
        "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = "adaptive_time_microseconds"
    # binary.handling.mode
    binary: Literal["bytes", "base64", "base64-url-safe", "hex"] = "bytes"
    # bigint.unsigned.handling.mode
    unsigned_bigints: Literal["long", "precise"] = "long"
    # event.converting.failure.handling.mode; "null" stands for warn and skip.
    conversion_failures: Literal["fail", "null"] = "fail"
    # field.name.adjustment.mode
    field_names: Literal["none", "avro", "avro_unicode"] = "none"
    # schema.name.adjustment.mode
    schema_names: Literal["none", "avro", "avro_unicode"] = "none"
    # Connect's JsonConverter, without and with schemas.enable; Confluent's converters; Debezium's
    # CloudEventsConverter.
    key_format: KeyFormat = "json"
    value_format: ValueFormat = "json"
    # flat stands for ExtractNewRecordState, flat_deletes for delete.tombstone.handling.mode,
    # flat_fields for add.fields.
    shape: Literal["envelope", "flat"] = "envelope"
    flat_deletes: Literal[
        "tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"
    ] = "tombstone"
    flat_fields: list[FlatField] = []
    # skipped.operations
    skipped_operations: list[Literal["c", "u", "d", "t"]] = ["t"]
    # message.key.columns, as database.table:column,column
    message_keys: list[MessageKey] = []
    # column.propagate.source.type, as database.table.column
    source_types: list[ColumnPattern] = []
    # datatype.propagate.source.type, as database.table.TYPE
    source_types_by_type: list[ColumnPattern] = []
    # The transformation Filter; a row must meet all conditions of its table.
    filters: list[FilterSettings] = []
    # ByLogicalTableRouter; of several routes for a table, the first one counts.
    routes: list[RouteSettings] = []
    outbox: OutboxSettings = OutboxSettings()

    @model_validator(mode="after")
    def _fitting(self) -> EnvelopeSettings:
        if self.profile == "exact":
            for key, value in self:
                if key != "profile" and value != type(self).model_fields[key].default:
                    shown = json.dumps(self.model_dump()[key])
                    raise UnfitValueError(codes.OF_DEBEZIUM, key=key, value=shown)
        if self.shape == "flat" and self.value_format == "cloudevents":
            raise UnfitValueError(codes.FLAT_EVENT)
        if self.shape == "envelope":
            for key in ("flat_deletes", "flat_fields"):
                value = getattr(self, key)
                if value != type(self).model_fields[key].default:
                    raise UnfitValueError(codes.OF_FLAT, key=key, value=json.dumps(value))
        return self

    @property
    def of_debezium(self) -> dict[str, object] | None:
        """Return the fields of `DebeziumForm`; None for the profile `exact`."""
        if self.profile == "exact":
            return None
        return self.model_dump(exclude={"profile", "filters", "outbox", "routes"}) | {
            "skipped_operations": tuple(self.skipped_operations),
            "message_keys": tuple(self.message_keys),
            "flat_fields": tuple(self.flat_fields),
            "source_types": tuple(self.source_types),
            "source_types_by_type": tuple(self.source_types_by_type),
        }
