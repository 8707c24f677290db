"""Events that name, open and close transactions become summaries and lines.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
https://mariadb.com/kb/en/mariadb-binlog/
"""

from collections.abc import Callable
from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import u8

from connector.binlog.columns.time_text import put_utc
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events import mariadb, transaction
from connector.binlog.text_writer import put_ascii, put_padded, put_uint
from connector.logs.dump.text.statements import END, Description, SessionText, comment_lines
from connector.logs.output import NEWLINE

# The name in place of the GTID of a transaction without one.
ANONYMOUS: Final = b"ANONYMOUS"

_COMMIT: Final = f"\nCOMMIT{END}\n".encode()
_ISOLATION_LEVEL: Final = (
    f"/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/{END}\n".encode()
)
_END_OF_NAME: Final = f"'{END}\n".encode()
_END_OF_COMMENT: Final = f"*/{END}\n".encode()

_MICROS: Final = 1_000_000
_MICROS_DIGITS: Final = 6
_MICROS_END: Final = 253_402_300_800_000_000  # the year 10000
_NATIVE_END: Final = 1 << 61  # a number below it has no object
_POINT: Final = 46

# Of an ALTER TABLE in two phases (binlog_alter_two_phase=ON).
_ALTERS = {
    mariadb.FL_START_ALTER_E1: "START ALTER",
    mariadb.FL_COMMIT_ALTER_E1: "COMMIT ALTER id= {}",
    mariadb.FL_ROLLBACK_ALTER_E1: "ROLLBACK ALTER id= {}",
}


def put_xid(out: BytesWriter, body: transaction.XidEvent) -> None:
    """Append the summary of a commit and its statement."""
    out.write(b"Xid = ")
    _put_number(out, body.xid)
    out.write(_COMMIT)


def _previous_gtids(body: transaction.PreviousGtidsEvent) -> Description:
    return "Previous-GTIDs", comment_lines(str(body.gtid_set).replace(",", ",\n") or "[empty]")


def put_gtid(out: BytesWriter, body: transaction.CommitInfo, name: bytes) -> None:
    """Append the summary of a GTID event and the statements that set its GTID, `name`."""
    original = body.original_commit_timestamp
    immediate = body.immediate_commit_timestamp
    row_based = not body.flags & transaction.FLAG_MAY_HAVE_SBR
    out.write(b"Anonymous_GTID" if name is ANONYMOUS else b"GTID")
    _put_fact(out, b"\tlast_committed=", body.last_committed)
    _put_fact(out, b"\tsequence_number=", body.sequence_number)
    out.write(b"\trbr_only=yes" if row_based else b"\trbr_only=no")
    _put_fact(out, b"\toriginal_committed_timestamp=", original)
    _put_fact(out, b"\timmediate_commit_timestamp=", immediate)
    _put_fact(out, b"\ttransaction_length=", body.transaction_length)
    out.append(u8(NEWLINE))
    if row_based:
        out.write(_ISOLATION_LEVEL)
    _put_date(out, b"# original_commit_timestamp=", original)
    _put_date(out, b"# immediate_commit_timestamp=", immediate)
    _put_setting(out, b"/*!80001 SET @@session.original_commit_timestamp=", original)
    server = body.original_server_version
    _put_setting(out, b"/*!80014 SET @@session.original_server_version=", server)
    server = body.immediate_server_version
    _put_setting(out, b"/*!80014 SET @@session.immediate_server_version=", server)
    out.write(b"SET @@SESSION.GTID_NEXT= '")
    out.write(name)
    out.write(_END_OF_NAME)


def _put_fact(out: BytesWriter, name: bytes, fact: int | None) -> None:
    if fact is not None:
        out.write(name)
        _put_number(out, fact)


def _put_setting(out: BytesWriter, statement: bytes, fact: int | None) -> None:
    if fact is not None:
        out.write(statement)
        _put_number(out, fact)
        out.write(_END_OF_COMMENT)


def _put_date(out: BytesWriter, name: bytes, micros: int | None) -> None:
    if micros is None:
        return
    out.write(name)
    _put_number(out, micros)
    if micros < _MICROS_END:
        seconds = micros // _MICROS
        out.write(b" (")
        put_utc(out, seconds)
        out.append(u8(_POINT))
        put_padded(out, micros - seconds * _MICROS, _MICROS_DIGITS)
        out.write(b" UTC)\n")
    else:
        out.write(b" (beyond the year 9999)\n")


def _put_number(out: BytesWriter, value: int) -> None:
    if 0 <= value < _NATIVE_END:
        put_uint(out, value)
    else:
        put_ascii(out, str(value))


def mariadb_gtid(session: SessionText, body: mariadb.MariadbGtidEvent) -> Description:
    """Return the summary of a GTID event of MariaDB, and the statements that begin the group."""
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


def _gtid_list(body: mariadb.MariadbGtidListEvent) -> Description:
    gtids = ",\n# ".join(map(str, body.gtids)).split("\n")
    first, *rest = [*gtids[:-1], f"{gtids[-1]}]"]
    return f"Gtid list [{first}", rest


def _xa_prepare(body: transaction.XaPrepareEvent) -> Description:
    statement = f"XA COMMIT {body.xid} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xid}"
    return f"XA PREPARE {body.xid}", [statement, END]


def _payload(body: TransactionPayloadEvent) -> Description:
    payload = body.payload
    summary = (
        f"Transaction_Payload\t\tpayload_size={payload.size}"
        f"\tcompression_type={payload.compression.name}"
        f"\tuncompressed_size={payload.uncompressed_size}"
    )
    return summary, []


TRANSACTIONS: dict[type, Callable[[Any], Description]] = {
    mariadb.MariadbGtidListEvent: _gtid_list,
    transaction.PreviousGtidsEvent: _previous_gtids,
    TransactionPayloadEvent: _payload,
    transaction.XaPrepareEvent: _xa_prepare,
}
