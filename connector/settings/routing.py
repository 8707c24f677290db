"""The settings that choose where the rows of some tables go."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from connector.errors import settings as codes
from connector.settings.files import UnfitValueError
from connector.settings.values import TablePattern

# https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_NAMES = re.compile(r"\{(database|table)\}")


def _as_topic(value: str) -> str:
    if not _TOPIC.fullmatch(_NAMES.sub("x", value)):
        raise UnfitValueError(codes.TOPIC, value=value)
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
    topic: Annotated[str, AfterValidator(_as_topic)]
    # key.field.name; "" stands for key.enforce.uniqueness=false.
    key_field: str = "__dbz__physicalTableIdentifier"
