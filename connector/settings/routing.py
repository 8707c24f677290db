"""The settings that choose where the rows of some tables go."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from connector.contract import is_topic_name
from connector.errors import settings_choices, settings_values
from connector.settings.files import UnfitValueError
from connector.settings.values import TablePattern


def _topic(*names: str) -> AfterValidator:
    """Return a check of a topic's name, in which other names may stand in braces."""

    def check(value: str) -> str:
        if not is_topic_name(re.sub(rf"\{{({'|'.join(names) or '(?!)'})\}}", "x", value)):
            raise UnfitValueError(settings_values.TOPIC, value=value)
        return value

    return AfterValidator(check)


Topic = Annotated[str, _topic()]


def _as_event_header(value: str) -> str:
    column, colon, name = value.partition(":")
    if not (column and name if colon else column) or value == "id":
        raise UnfitValueError(settings_values.EVENT_HEADER, value=value)
    return value


class FilterSettings(BaseModel):
    """Leaves out the rows of some tables that do not meet a condition: Debezium's Filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tables: TablePattern
    where: str


class RouteSettings(BaseModel):
    """Sends the rows of several tables to one topic: Debezium's ByLogicalTableRouter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tables: TablePattern  # topic.regex
    # topic.replacement; {database} and {table} stand for the names of the table.
    topic: Annotated[str, _topic("database", "table")]
    # key.field.name; "" stands for key.enforce.uniqueness=false.
    key_field: str = "__dbz__physicalTableIdentifier"


class OutboxSettings(BaseModel):
    """Tables whose new rows are events for other programs: Debezium's EventRouter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    def _expandable(self) -> OutboxSettings:
        if self.expand_payload and self.value_format == "plain":
            raise UnfitValueError(settings_choices.EXPANDED_TEXT)
        return self
