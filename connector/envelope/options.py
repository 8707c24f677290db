"""The facts that all records of one pipeline share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.envelope.topics import Topics

if TYPE_CHECKING:
    from connector.envelope.columns.choice import ColumnChoice
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.debezium.outbox_form import OutboxForm
    from connector.envelope.topics import Route


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """The facts that all records of one pipeline share."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    tombstones: bool = True
    debezium: DebeziumForm | None = None  # None: the profile `exact`
    columns: ColumnChoice | None = None  # None: all columns, as they are
    routes: tuple[Route, ...] = ()  # of tables whose topics have other names
    outbox: OutboxForm | None = None  # of tables whose rows are events

    @property
    def topics(self) -> Topics:
        """The topics of the tables."""
        return Topics(self.prefix, self.routes)
