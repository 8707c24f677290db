"""The facts that all records of one pipeline share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.contract.record_formats import SubjectStrategy
    from connector.envelope.columns.choice import ColumnChoice
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.registered.schema_ids import SchemaIds


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The facts that all records of one pipeline share."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    tombstones: bool = True
    debezium: DebeziumForm | None = None  # None: the profile `exact`
    columns: ColumnChoice | None = None  # None: all columns, as they are
    # For the formats of a schema registry, and how its subjects are named.
    schema_ids: SchemaIds | None = None
    subjects: SubjectStrategy = "topic"
