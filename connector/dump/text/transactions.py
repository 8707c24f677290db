"""Events that name, open and close transactions become summaries and lines.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
https://mariadb.com/kb/en/mariadb-binlog/
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import (
    FL_COMMIT_ALTER_E1,
    FL_ROLLBACK_ALTER_E1,
    FL_START_ALTER_E1,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.transaction import (
    FLAG_MAY_HAVE_SBR,
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.events.xa import XaPrepareEvent
from connector.dump.text.session import END, SessionText
from connector.dump.text.statements import Description, commented

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.event import Event

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Of an ALTER TABLE in two phases (binlog_alter_two_phase=ON).
_ALTERS = {
    FL_START_ALTER_E1: "START ALTER",
    FL_COMMIT_ALTER_E1: "COMMIT ALTER id= {}",
    FL_ROLLBACK_ALTER_E1: "ROLLBACK ALTER id= {}",
}


def _xid(session: SessionText, event: Event, body: XidEvent) -> Description:
    del session, event
    return f"Xid = {body.xid}", [f"COMMIT{END}"]


def _previous_gtids(session: SessionText, event: Event, body: PreviousGtidsEvent) -> Description:
    del session, event
    return "Previous-GTIDs", commented(str(body.gtid_set).replace(",", ",\n") or "[empty]")


def _gtid(
    session: SessionText, event: Event, body: GtidEvent | GtidTaggedEvent | AnonymousGtidEvent
) -> Description:
    del session, event
    anonymous = isinstance(body, AnonymousGtidEvent)
    row_based = not body.flags & FLAG_MAY_HAVE_SBR
    facts = {
        "last_committed": body.last_committed,
        "sequence_number": body.sequence_number,
        "rbr_only": "yes" if row_based else "no",
        "original_committed_timestamp": body.original_commit_timestamp,
        "immediate_commit_timestamp": body.immediate_commit_timestamp,
        "transaction_length": body.transaction_length,
    }
    summary = "Anonymous_GTID" if anonymous else "GTID"
    summary += "".join(f"\t{name}={fact}" for name, fact in facts.items() if fact is not None)
    lines = []
    if row_based:
        lines.append(f"/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/{END}")
    for name, micros in (
        ("original_commit_timestamp", body.original_commit_timestamp),
        ("immediate_commit_timestamp", body.immediate_commit_timestamp),
    ):
        if micros is not None:
            lines.append(f"# {name}={micros} ({_precise_date(micros)})")
    for name, since, fact in (
        ("original_commit_timestamp", "80001", body.original_commit_timestamp),
        ("original_server_version", "80014", body.original_server_version),
        ("immediate_server_version", "80014", body.immediate_server_version),
    ):
        if fact is not None:
            lines.append(f"/*!{since} SET @@session.{name}={fact}*/{END}")
    name = "ANONYMOUS" if isinstance(body, AnonymousGtidEvent) else str(body.gtid)
    lines.append(f"SET @@SESSION.GTID_NEXT= '{name}'{END}")
    return summary, lines


def _precise_date(microseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return "beyond the year 9999"
    return f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC"


def _mariadb_gtid(session: SessionText, event: Event, body: MariadbGtidEvent) -> Description:
    del event
    gtid = body.gtid
    summary = f"GTID {gtid}"
    if body.commit_id is not None:
        summary += f" cid={body.commit_id}"
    if body.ddl:
        summary += " ddl"
    if body.transactional:
        summary += " trans"
    alters = [words for bit, words in _ALTERS.items() if body.flags_extra & bit]
    # Each phase logs the group's one statement, but it runs once.
    session.comments_statement = bool(alters)
    for words in alters:
        summary += f" {words.format(body.sa_seq_no)}"
    if body.thread_id is not None:
        summary += f" thread_id={body.thread_id}"
    lines = [
        *session.changed("gtid_domain_id", str(gtid.domain_id), since="M!100001"),
        *session.changed("server_id", str(gtid.server_id), since="M!100001"),
        *session.changed("gtid_seq_no", str(gtid.sequence), since="M!100001"),
    ]
    if body.prepared_xa:
        lines += [f"XA START {body.xid}", END]
    elif not body.standalone:
        lines += ["START TRANSACTION", END]
    return summary, lines


def _gtid_list(session: SessionText, event: Event, body: MariadbGtidListEvent) -> Description:
    del session, event
    gtids = ",\n# ".join(map(str, body.gtids)).split("\n")
    first, *rest = [*gtids[:-1], f"{gtids[-1]}]"]
    return f"Gtid list [{first}", rest


def _xa_prepare(session: SessionText, event: Event, body: XaPrepareEvent) -> Description:
    del session, event
    statement = f"XA COMMIT {body.xid} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xid}"
    return f"XA PREPARE {body.xid}", [statement, END]


def _payload(session: SessionText, event: Event, body: TransactionPayloadEvent) -> Description:
    del session, event
    summary = (
        f"Transaction_Payload\t\tpayload_size={body.payload_size}"
        f"\tcompression_type={body.compression.name}\tuncompressed_size={body.uncompressed_size}"
    )
    return summary, []


TRANSACTIONS: dict[type, Callable[[SessionText, Event, Any], Description]] = {
    AnonymousGtidEvent: _gtid,
    GtidEvent: _gtid,
    GtidTaggedEvent: _gtid,
    MariadbGtidEvent: _mariadb_gtid,
    MariadbGtidListEvent: _gtid_list,
    PreviousGtidsEvent: _previous_gtids,
    TransactionPayloadEvent: _payload,
    XaPrepareEvent: _xa_prepare,
    XidEvent: _xid,
}
