"""XA transactions between XA PREPARE and their outcome, as the progress record names them.

After a restart, the rows of followed tables are read again, from the position of XA PREPARE. All
other changes between there and the stream's position were delivered before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.changes.earlier_runs import Reread
from connector.changes.xa import PreparedGroup
from connector.gtid import GtidSet, MariadbGtid, MariadbGtidSet

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.receiver import Committed
    from connector.contract import PreparedXaRecord


@final
class PreparedXa:
    """The prepared XA transactions of one stream, the oldest first."""

    def __init__(self, records: list[PreparedXaRecord]) -> None:
        """Continue with those of a progress record."""
        self._records: dict[str, PreparedXaRecord] = {record["xid"]: record for record in records}

    @property
    def records(self) -> list[PreparedXaRecord]:
        """Their entries for the next progress record."""
        return list(self._records.values())

    def advance(self, committed: Committed, gtid_set: GtidSet | MariadbGtidSet | None) -> None:
        """Note that a transaction is complete; `gtid_set` holds all transactions before it."""
        if committed.outcome:
            self._records.pop(committed.outcome, None)
        group = committed.prepared
        if group is None:
            return
        transaction = committed.transaction
        gtid = transaction.gtid
        before = None
        if isinstance(gtid, MariadbGtid) and isinstance(gtid_set, MariadbGtidSet):
            before = str(gtid_set.last_of(gtid.domain_id) or "")
        self._records.pop(group.xid, None)
        self._records[group.xid] = {
            "xid": group.xid,
            "gtid": None if gtid is None else str(gtid),
            "file": transaction.file,
            "position": transaction.position,
            "before": before,
            "held": group.rows is not None,
            "other_tables": []
            if group.rows is not None
            else [list(name) for name in group.other_tables],
        }

    def without_rows(self) -> list[PreparedGroup]:
        """Return those without rows of followed tables; they are not read again."""
        return [
            PreparedGroup(
                record["xid"], None, [(name[0], name[1]) for name in record["other_tables"]]
            )
            for record in self._records.values()
            if not record["held"]
        ]

    def reread(
        self, gtid_set: GtidSet | MariadbGtidSet | None, file: str, position: i64
    ) -> Reread | None:
        """Return the part that the source sends again from this position; None if none."""
        held = {
            record["gtid"] or f"{record['file']}:{record['position']}"
            for record in self._records.values()
            if record["held"]
        }
        if not held:
            return None
        return Reread(None if gtid_set is None else gtid_set.copy(), file, position, held)


def held_records(records: list[PreparedXaRecord]) -> list[PreparedXaRecord]:
    """Return the entries whose rows are read again."""
    return [record for record in records if record["held"]]


def set_before(
    gtid_set: GtidSet | MariadbGtidSet, held: list[PreparedXaRecord]
) -> GtidSet | MariadbGtidSet:
    """Return the set after which a source sends `held` groups and all that `gtid_set` lacks."""
    if isinstance(gtid_set, GtidSet):
        prepared = GtidSet()
        for record in held:
            for gtid in GtidSet.parse(record["gtid"] or ""):
                prepared.add(gtid)
        return gtid_set - prepared
    # In each domain, the oldest group decides.
    first: dict[int, str] = {}
    for record in held:
        domain = MariadbGtid.parse(record["gtid"] or "").domain_id
        first.setdefault(domain, record["before"] or "")
    earlier = MariadbGtidSet()
    for last in gtid_set:
        text = first.get(last.domain_id)
        if text is None:
            earlier.add(last)
        elif text:
            earlier.add(MariadbGtid.parse(text))
    return earlier
