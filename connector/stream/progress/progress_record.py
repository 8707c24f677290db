"""The progress record, which closes each Kafka transaction, and how a restart reads it.

*Resumption.* The record is committed together with its rows, so a restart reads exactly the state
that consumers see: no change is written to Kafka twice, and none is left out.

*XA.* The record names the XA transactions between XA PREPARE and their outcome. After a restart,
their rows in followed tables are read again, from the position of XA PREPARE. All other changes
between there and the stream's position were delivered before.

*Start.* `start_point` turns the record into the position from which a stream resumes.
"""

import json
from dataclasses import dataclass, field, fields
from typing import final

from mypy_extensions import i64

from connector.binlog.gtid import GtidSet, MariadbGtid, MariadbGtidSet, has_reached, parse_gtid_set
from connector.binlog.header import FIRST_POSITION
from connector.foundation.contract import PROGRESS_TOPIC_SUFFIX
from connector.foundation.control_records import PreparedXaRecord, ProgressRecord
from connector.foundation.errors import DecodeError, SourceRefused
from connector.foundation.kafka_records import Record
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.changes.receiver import TransactionEnd
from connector.stream.changes.xa_transactions import PreparedGroup, RedeliveredGroups
from connector.stream.progress import progress_errors


@dataclass(slots=True)
class Progress:
    """The fields of `control_records.ProgressRecord`."""

    flavour: str
    gtid_set: str | None
    file: str
    position: int
    epoch: int
    seq: str
    server_uuid: str
    instance: str
    host: str
    pid: int
    committed_at_ms: int
    added_columns: dict[str, list[list[str]]] = field(default_factory=dict)
    online_changes: dict[str, dict[str, list[list[str]]]] = field(default_factory=dict)
    changed_tables: list[str] = field(default_factory=list)
    current_schemas: dict[str, str] = field(default_factory=dict)
    stated_schemas: dict[str, str] = field(default_factory=dict)
    cascaded_rows: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    between: int = 0
    commands_offset: int = 0
    signals_offset: int | None = None
    signals_file: str = ""
    prepared: list[PreparedXaRecord] = field(default_factory=list)
    file_created: int = 0
    source: str = ""
    begun_events: int = 0
    begun_rows: int = 0
    source_time_us: int = 0

    def encode(self, prefix: str, name: str) -> Record:
        """Return the record of pipeline `name` in `<prefix>.progress`."""
        # `asdict` would copy every value, and the values are what JSON knows.
        value = {name: getattr(self, name) for name in _NAMES}
        return Record(
            topic=progress_topic(prefix),
            key=name.encode(),
            value=_JSON.encode(value).encode(),
            headers=[],
            timestamp_ms=self.committed_at_ms,
        )

    @classmethod
    def decode(cls, value: bytes, record_name: str) -> "Progress":
        """Read the value of a progress record; `record_name` names it in errors.

        Raises DecodeError if this version did not write it.
        """
        try:
            return cls(**json.loads(value))
        except (ValueError, TypeError) as error:
            raise DecodeError(
                progress_errors.PROGRESS, record=record_name, why=str(error)
            ) from error


_NAMES = tuple(one.name for one in fields(Progress))
_JSON = json.JSONEncoder(separators=(",", ":"))


def progress_topic(prefix: str) -> str:
    """Return the topic of progress records."""
    return f"{prefix}.{PROGRESS_TOPIC_SUFFIX}"


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

    def advance(self, committed: TransactionEnd, gtid_set: GtidSet | MariadbGtidSet | None) -> None:
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
    ) -> RedeliveredGroups | None:
        """Return the part that the source sends again from this position; None if none."""
        held = {
            record["gtid"] or f"{record['file']}:{record['position']}"
            for record in self._records.values()
            if record["held"]
        }
        if not held:
            return None
        return RedeliveredGroups(
            None if gtid_set is None else gtid_set.copy(), file, position, held
        )


def held_records(records: list[PreparedXaRecord]) -> list[PreparedXaRecord]:
    """Return the entries whose rows are read again."""
    return [record for record in records if record["held"]]


def has_transactions(record: ProgressRecord, gtids: str) -> bool:
    """Return whether everything in the set `gtids` is committed; never so for a stream by position.

    Raises DecodeError for another text than a set of GTIDs.
    """
    if record["gtid_set"] is None:
        return False
    known, wanted = (
        parse_gtid_set(text, record["flavour"]) for text in (record["gtid_set"], gtids)
    )
    return has_reached(known, wanted)


def gtid_set_before(
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


def start_point(last: Progress, identity: ServerIdentity, server_name: str) -> StartPoint:
    """Return where to resume after `last`; `server_name` names the source in errors.

    A stream resumes by GTID. A stream by position stays one, because turning GTIDs on later does
    not say which transactions have been read. On another server, only GTIDs work: there the
    transactions have other positions and XIDs, and sometimes another order. Raises SourceRefused
    if `last` says nothing about the source.
    """
    if last.flavour != identity.flavour:
        raise SourceRefused(
            progress_errors.OTHER_FLAVOUR,
            server=server_name,
            before=last.flavour,
            now=identity.flavour,
        )
    same_server = last.server_uuid == identity.server_uuid
    if last.gtid_set is None:
        if not same_server:
            raise SourceRefused(
                progress_errors.POSITION_ELSEWHERE,
                server=server_name,
                file=last.file,
                position=last.position,
                before=last.server_uuid,
                now=identity.server_uuid,
            )
        return _own_point(last, identity, None)
    if identity.flavour == "mysql" and not identity.gtid:
        # No other server knows the position.
        start = f"position:{last.file}:{last.position}" if same_server else "snapshot"
        raise SourceRefused(progress_errors.GTID_MODE_OFF, server=server_name, start=start)
    gtids = parse_gtid_set(last.gtid_set, identity.flavour)
    if not same_server:
        if last.begun_events or last.begun_rows:
            raise SourceRefused(
                progress_errors.BEGUN_ELSEWHERE,
                server=server_name,
                before=last.server_uuid,
                now=identity.server_uuid,
            )
        # Another server's file and offset are not known before it has sent an event.
        return StartPoint(identity.flavour, gtids, "", FIRST_POSITION)
    return _own_point(last, identity, gtids)


def _own_point(
    last: Progress, identity: ServerIdentity, gtids: GtidSet | MariadbGtidSet | None
) -> StartPoint:
    """Return the point on the same server, with what was delivered of the next transaction."""
    return StartPoint(
        identity.flavour,
        gtids,
        last.file,
        last.position,
        last.file_created,
        begun_events=last.begun_events,
        begun_rows=last.begun_rows,
    )


def reads_from(point: StartPoint, last: Progress) -> StartPoint | None:
    """Return the position before `point` from where XA transactions are read again, or None.

    `point` is the stream's position according to `last`.
    """
    held = held_records(last.prepared)
    if not held:
        return None
    if point.gtid_set is not None:
        gtids = gtid_set_before(point.gtid_set, held)
        return StartPoint(point.flavour, gtids, "", FIRST_POSITION)
    return StartPoint(point.flavour, None, held[0]["file"], held[0]["position"])


def pending_columns(last: Progress) -> dict[str, list[AddedColumn]]:
    """Return the columns whose table has had no rows since ALTER TABLE."""
    return {
        name: [AddedColumn(column, DefaultKind(kind), text) for column, kind, text in columns]
        for name, columns in last.added_columns.items()
    }
