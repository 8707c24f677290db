"""The settings `[envelope]`: the form of rows in Kafka, filters, routes, and outbox tables."""

import json
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, PrivateAttr, model_validator

from connector.foundation.contract import is_topic_name
from connector.foundation.record_formats import KeyFormat, ValueFormat
from connector.foundation.settings import settings_errors
from connector.foundation.settings.file_settings import UnfitValueError
from connector.foundation.settings.values import ColumnPattern, FlatField, MessageKey, TablePattern


def _topic(*names: str) -> AfterValidator:
    """Return a check of a topic's name, in which other names may stand in braces."""

    def check(value: str) -> str:
        if not is_topic_name(re.sub(rf"\{{({'|'.join(names) or '(?!)'})\}}", "x", value)):
            raise UnfitValueError(settings_errors.TOPIC, value=value)
        return value

    return AfterValidator(check)


Topic = Annotated[str, _topic()]


def _as_event_header(value: str) -> str:
    column, colon, name = value.partition(":")
    if not (column and name if colon else column) or value == "id":
        raise UnfitValueError(settings_errors.EVENT_HEADER, value=value)
    return value


class TableNames(BaseModel):
    """Base of settings with patterns of tables."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    _ignores_case: bool = PrivateAttr(default=False)

    @property
    def ignores_case(self) -> bool:
        """Whether the server takes names of tables for the same that differ in case."""
        return self._ignores_case

    def in_any_case(self, **changed: object) -> Self:
        """Return a copy for such a server, with other values."""
        copy = self.model_copy(update=changed)
        copy._ignores_case = True  # noqa: SLF001 - of this class
        return copy


class FilterSettings(TableNames):
    """Leaves out the rows of some tables that do not meet a condition: Debezium's Filter."""

    tables: TablePattern
    where: str


class RouteSettings(TableNames):
    """Sends the rows of several tables to one topic: Debezium's ByLogicalTableRouter."""

    tables: TablePattern  # topic.regex
    # topic.replacement; {database} and {table} stand for the names of the table.
    topic: Annotated[str, _topic("database", "table")]
    # key.field.name; "" stands for key.enforce.uniqueness=false.
    key_field: str = "__dbz__physicalTableIdentifier"


class OutboxSettings(TableNames):
    """Tables whose new rows are events for other programs: Debezium's EventRouter."""

    tables: list[TablePattern] = []
    id: str = "id"  # table.field.event.id
    key: str = "aggregateid"  # table.field.event.key
    payload: str = "payload"  # table.field.event.payload
    route_by: str = "aggregatetype"  # route.by.field
    # route.topic.replacement; {value} stands for the value of the column route_by.
    topic_name: Annotated[str, _topic("value")] = "outbox.event.{value}"
    # table.fields.additional.placement, as column or column:header
    headers: list[Annotated[str, AfterValidator(_as_event_header)]] = []
    # The converters: JsonConverter; plain is StringConverter, and BinaryDataConverter for bytes.
    key_format: Literal["json", "json_with_schema", "plain"] = "json"
    value_format: Literal["json", "json_with_schema", "plain"] = "json"
    # table.expand.json.payload
    expand_payload: bool = False
    # table.op.invalid.behavior
    on_update: Literal["warn", "stop"] = "warn"

    @model_validator(mode="after")
    def _expandable(self) -> "OutboxSettings":
        if self.expand_payload and self.value_format == "plain":
            raise UnfitValueError(settings_errors.EXPANDED_TEXT)
        return self


class EnvelopeSettings(TableNames):
    """How rows look in Kafka."""

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
    def _fitting(self) -> "EnvelopeSettings":
        if self.profile == "exact":
            for key, value in self:
                if key != "profile" and value != type(self).model_fields[key].default:
                    shown = json.dumps(self.model_dump()[key])
                    raise UnfitValueError(settings_errors.OF_DEBEZIUM, key=key, value=shown)
        if self.shape == "flat" and self.value_format == "cloudevents":
            raise UnfitValueError(settings_errors.FLAT_EVENT)
        if self.shape == "envelope":
            for key in ("flat_deletes", "flat_fields"):
                value = getattr(self, key)
                if value != type(self).model_fields[key].default:
                    raise UnfitValueError(settings_errors.OF_FLAT, key=key, value=json.dumps(value))
        return self

    @property
    def of_debezium(self) -> dict[str, object] | None:
        """Return the fields of `DebeziumProfile`; None for the profile `exact`."""
        if self.profile == "exact":
            return None
        return self.model_dump(exclude={"profile", "filters", "outbox", "routes"}) | {
            "skipped_operations": tuple(self.skipped_operations),
            "message_keys": tuple(self.message_keys),
            "flat_fields": tuple(self.flat_fields),
            "source_types": tuple(self.source_types),
            "source_types_by_type": tuple(self.source_types_by_type),
            "ignores_case": self.ignores_case,
        }
