"""What a stream met and did not publish becomes lines of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.binlog.event_types import event_name

if TYPE_CHECKING:
    from connector.changes.table_filter import TableFilter
    from connector.delivery_stream import DeliveryStream
    from connector.envelope.anchored_tables import AnchoredTables


class Notices:
    """Tells of everything once."""

    def __init__(
        self, delivery: DeliveryStream, tables: TableFilter, anchored: AnchoredTables
    ) -> None:
        """Tell of what these three keep."""
        self._log = structlog.get_logger()
        self._delivery = delivery
        self._tables = tables
        self._anchored = anchored

    def tell(self) -> None:
        """Tell of what came since the last time."""
        skipped = self._delivery.skipped_events
        for event in skipped:
            self._log.warning(
                "skipped an event of an unknown type, which its server flagged as ignorable",
                type=event_name(event.header.type_code),
                file=event.file,
                position=event.position,
            )
        skipped.clear()
        for table in self._tables.left_out:
            self._log.info(
                "not published: a table of an online schema change, by its name; name it without a "
                "wildcard in source.tables to publish it",
                table=table,
            )
        self._tables.left_out.clear()
        for table in self._anchored.gone:
            self._log.warning(
                "not published: rows whose columns the log does not name, of a table that has been "
                "dropped since; the statement takes all rows of the table back",
                table=table,
            )
        self._anchored.gone.clear()
