"""The facts that all records of one pipeline share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.envelope.topics import Topics

if TYPE_CHECKING:
    from connector.contract.record_formats import SubjectStrategy
    from connector.envelope.columns.choice import ColumnChoice
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.debezium.outbox_form import OutboxForm
    from connector.envelope.registered.schema_ids import SchemaIds
    from connector.envelope.topics import Route


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The facts that all records of one pipeline share."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    pipeline: str = ""  # its name
    tombstones: bool = True
    debezium: DebeziumForm | None = None  # None: the profile `exact`
    columns: ColumnChoice | None = None  # None: all columns, as they are
    routes: tuple[Route, ...] = ()  # of tables whose topics have other names
    outbox: OutboxForm | None = None  # of tables whose rows are events
    # For the formats of a schema registry, and how its subjects are named.
    schema_ids: SchemaIds | None = None
    subjects: SubjectStrategy = "topic"

    @property
    def topics(self) -> Topics:
        """The topics of the tables."""
        return Topics(self.prefix, self.routes)

    def owner(self, database: str, table: str) -> str:
        """Return the name of the pipeline if others may write to the topic of a table; else ""."""
        is_event = self.outbox is not None and self.outbox.takes(database, table)
        is_routed = bool(self.routes) and self.topics.route(database, table) is not None
        return self.pipeline if is_event or is_routed else ""
