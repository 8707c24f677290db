"""What a stream met and did not publish becomes lines of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.binlog.framing.event_types import event_name
from connector.errors import line, stream_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import SourceTransaction
    from connector.envelope.schemas.anchored_tables import AnchoredTables
    from connector.run.delivery_stream import DeliveryStream


_GTID_CHARACTERS_MAX = 120
_TABLES_SHOWN_MAX = 3


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
        self._tell_of_statements()
        self._tell_of_large_transactions()
        skipped = self._delivery.skipped_events
        for event in skipped:
            self._log.warning(
                **line(stream_order.IGNORED_EVENT),
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

    def _tell_of_statements(self) -> None:
        statements = self._delivery.statements
        for change in statements:
            self._log.info(
                "DDL",
                kind=change.kind.value,
                table=".".join(filter(None, (change.database, change.table))),
                position=f"{change.event.file}:{change.event.position}",
                gtid=_gtid(change.transaction),
                copied_anew=change.resync or None,
            )
        statements.clear()

    def _tell_of_large_transactions(self) -> None:
        large = self._delivery.large_transactions
        for one in large:
            transaction = one.committed.transaction
            self._log.info(
                "large transaction",
                records=one.records,
                bytes=one.bytes,
                seconds=round(one.seconds, 1),
                position=f"{transaction.file}:{transaction.position}",
                end=f"{one.committed.file}:{one.committed.next_position}",
                gtid=_gtid(transaction),
            )
        large.clear()


def abbreviated(gtid_set: str | None) -> str | None:
    """Return a GTID set that fits into a line: its first members, and how many more there are."""
    if gtid_set is None or len(gtid_set) <= _GTID_CHARACTERS_MAX:
        return gtid_set
    members = gtid_set.split(",")
    kept: list[str] = []
    for member in members:
        if kept and len(",".join([*kept, member])) > _GTID_CHARACTERS_MAX:
            break
        kept.append(_shortened(member))
    more = len(members) - len(kept)
    return ",".join(kept) + (f", … {more} more" if more else "")


def _shortened(member: str) -> str:
    """Return a member with its last interval, and of those before it what fits."""
    if len(member) <= _GTID_CHARACTERS_MAX:
        return member
    last = member.rpartition(":")[2]
    return f"{member[: _GTID_CHARACTERS_MAX - len(last)].rpartition(':')[0]}:…:{last}"


def busiest_tables(topic_records: Mapping[str, int], prefix: str) -> str:
    """Return the tables with most records, with how many; topics begin with `prefix`."""
    tables = {
        topic.removeprefix(f"{prefix}."): count
        for topic, count in topic_records.items()
        # Those of one part are the connector's own.
        if topic.startswith(f"{prefix}.") and "." in topic.removeprefix(f"{prefix}.")
    }
    busiest = sorted(tables.items(), key=lambda item: (-item[1], item[0]))[:_TABLES_SHOWN_MAX]
    more = len(tables) - len(busiest)
    shown = ", ".join(f"{table} ({count})" for table, count in busiest)
    return shown + (f", … {more} more" if more else "")


def _gtid(transaction: SourceTransaction) -> str | None:
    return None if transaction.gtid is None else str(transaction.gtid)
