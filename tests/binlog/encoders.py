"""Bodies of events become bytes again: proof that nothing of them is lost, and logs for tests."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.control import (
    IgnorableEvent,
    RotateEvent,
    StartEncryptionEvent,
    StopEvent,
    TransactionContextEvent,
    ViewChangeEvent,
)
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    DeleteFileEvent,
    ExecLoadEvent,
)
from connector.binlog.events.mariadb import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.transaction import (
    LOGICAL_TIMESTAMP,
    AnonymousGtidEvent,
    CommitInfo,
    GtidEvent,
    PreviousGtidsEvent,
    XaPrepareEvent,
    XidEvent,
)
from connector.binlog.payload_reader import encode_lenenc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from connector.binlog.gtid import MariadbGtid

_QUERY = Struct("<IIBHH")
_LOAD_QUERY = Struct("<IIIB")
_LOGICAL = Struct("<Bqq")
_XA_PREPARE = Struct("<BIII")
_MARIADB_GTID = Struct("<QIB")
_MARIADB_LISTED = Struct("<IIQ")
_MARIADB_XID = Struct("<IBB")
_PARTIAL = Struct("<IIB")
_CONTEXT = Struct("<BIBIII")
_VIEW = Struct("<40sQI")

_VERSION_LENGTH = 50


def encoded(body: object) -> bytes:
    """Return the body of an event as a server writes it, without header and checksum."""
    return ENCODERS[type(body)](body)


def _intvar(body: IntvarEvent) -> bytes:
    return bytes([body.type_code]) + _u64(body.value)


def _rand(body: RandEvent) -> bytes:
    return _u64(body.seed1) + _u64(body.seed2)


def _user_var(body: UserVarEvent) -> bytes:
    name = body.name.encode()
    head = _u32(len(name)) + name
    if body.raw_value is None:
        return head + b"\1" + body.raw_attributes
    kind = bytes([0, body.type]) + _u32(body.collation)
    return head + kind + _u32(len(body.raw_value)) + body.raw_value + body.raw_attributes


def _rotate(body: RotateEvent) -> bytes:
    return _u64(body.next_position) + body.next_file.encode()


def _start_encryption(body: StartEncryptionEvent) -> bytes:
    return bytes([body.scheme]) + _u32(body.key_version) + body.nonce


def _transaction_context(body: TransactionContextEvent) -> bytes:
    uuid = body.server_uuid.encode("ascii")
    version = body.snapshot_version.encode()
    head = _CONTEXT.pack(
        len(uuid),
        body.thread_id,
        body.gtid_specified,
        len(version),
        len(body.write_set),
        len(body.read_set),
    )
    return head + uuid + version + _items(body.write_set) + _items(body.read_set)


def _view_change(body: ViewChangeEvent) -> bytes:
    count = len(body.certification_info)
    chunks = [_VIEW.pack(body.view_id.encode("ascii"), body.sequence_number, count)]
    for key, value in body.certification_info:
        chunks += [len(key).to_bytes(2, "little"), key, _u32(len(value)), value]
    return b"".join(chunks)


def _start_v3(body: StartEventV3 | FormatDescriptionEvent) -> bytes:
    version = body.server_version.encode().ljust(_VERSION_LENGTH, b"\0")
    return body.binlog_version.to_bytes(2, "little") + version + _u32(body.create_timestamp)


def _format_description(body: FormatDescriptionEvent) -> bytes:
    algorithm = b"" if body.checksum_algorithm is None else bytes([body.checksum_algorithm])
    return _start_v3(body) + bytes([body.header_length]) + body.post_header_lengths + algorithm


def _block(body: AppendBlockEvent | BeginLoadQueryEvent) -> bytes:
    return _u32(body.file_id) + body.block


def _file_id(body: ExecLoadEvent | DeleteFileEvent) -> bytes:
    return _u32(body.file_id)


def _query(body: QueryEvent) -> bytes:
    return _query_head(body) + _query_rest(body)


def _execute_load_query(body: ExecuteLoadQueryEvent) -> bytes:
    load = _LOAD_QUERY.pack(body.file_id, body.start_pos, body.end_pos, body.duplicate_handling)
    return _query_head(body) + load + _query_rest(body)


def _query_head(body: QueryEvent) -> bytes:
    schema_length = len(body.schema.encode())
    variables_length = len(body.status_variables.data)
    return _QUERY.pack(
        body.thread_id, body.exec_time, schema_length, body.error_code, variables_length
    )


def _query_rest(body: QueryEvent) -> bytes:
    return body.status_variables.data + body.schema.encode() + b"\0" + body.query_bytes


def _rows_query(body: RowsQueryEvent) -> bytes:
    return bytes([body.length]) + body.query_bytes


def _gtid(body: GtidEvent) -> bytes:
    return bytes([body.flags]) + body.gtid.uuid.bytes + _u64(body.gtid.gno) + _commit_info(body)


def _anonymous_gtid(body: AnonymousGtidEvent) -> bytes:
    return bytes([body.flags]) + bytes(24) + _commit_info(body)


def _commit_info(body: CommitInfo) -> bytes:
    if body.last_committed is None or body.sequence_number is None:
        return body.rest
    chunks = [
        _LOGICAL.pack(LOGICAL_TIMESTAMP, body.last_committed, body.sequence_number),
        _pair(body.immediate_commit_timestamp, body.original_commit_timestamp, 7),
    ]
    if body.transaction_length is not None:
        chunks.append(encode_lenenc(body.transaction_length))
    chunks.append(_pair(body.immediate_server_version, body.original_server_version, 4))
    if body.commit_group_ticket is not None:
        chunks.append(_u64(body.commit_group_ticket))
    return b"".join(chunks) + body.rest


def _pair(immediate: int | None, original: int | None, length: int) -> bytes:
    """Return both numbers; the highest bit of the first says that they differ."""
    if immediate is None or original is None:
        return b""
    if immediate == original:
        return immediate.to_bytes(length, "little")
    flag = 1 << 8 * length - 1
    return (immediate | flag).to_bytes(length, "little") + original.to_bytes(length, "little")


def _xid(body: XidEvent) -> bytes:
    return _u64(body.xid)


def _previous_gtids(body: PreviousGtidsEvent) -> bytes:
    return body.gtid_set.encode()


def _xa_prepare(body: XaPrepareEvent) -> bytes:
    xid = body.xid
    head = _XA_PREPARE.pack(body.one_phase, xid.format_id, len(xid.gtrid), len(xid.bqual))
    return head + xid.gtrid + xid.bqual


def _mariadb_gtid(body: MariadbGtidEvent) -> bytes:
    chunks = [_MARIADB_GTID.pack(body.gtid.sequence, body.gtid.domain_id, body.flags)]
    if body.commit_id is not None:
        chunks.append(_u64(body.commit_id))
    if body.xid is not None:
        xid = body.xid
        chunks += _MARIADB_XID.pack(xid.format_id, len(xid.gtrid), len(xid.bqual)), xid.gtrid
        chunks.append(xid.bqual)
    if body.flags_extra:
        chunks.append(bytes([body.flags_extra]))
    for value, length in ((body.extra_engines, 1), (body.sa_seq_no, 8), (body.thread_id, 4)):
        if value is not None:
            chunks.append(value.to_bytes(length, "little"))
    return b"".join(chunks) + body.rest


def _mariadb_gtid_list(body: MariadbGtidListEvent) -> bytes:
    return _u32(len(body.gtids) | body.flags << 28) + _listed(body.gtids) + body.rest


def _listed(gtids: Iterable[MariadbGtid]) -> bytes:
    return b"".join(
        _MARIADB_LISTED.pack(gtid.domain_id, gtid.server_id, gtid.sequence) for gtid in gtids
    )


def _annotate_rows(body: AnnotateRowsEvent) -> bytes:
    return body.query_bytes


def _binlog_checkpoint(body: BinlogCheckpointEvent) -> bytes:
    name = body.file.encode()
    return _u32(len(name)) + name


def _partial_row_data(body: PartialRowDataEvent) -> bytes:
    size = b"" if body.original_size is None else _u64(body.original_size)
    head = _PARTIAL.pack(body.total_fragments, body.sequence_number, body.flags)
    return head + size + body.fragment


def _gtid_tagged(body: GtidTaggedEvent) -> bytes:
    tag = body.gtid.tag.encode("ascii")
    chunks = [varlen(0), varlen(body.flags), varlen(1), *map(varlen, body.gtid.uuid.bytes)]
    chunks += [varlen(2), signed_varlen(body.gtid.gno), varlen(3), varlen(len(tag)), tag]
    signed = ((4, body.last_committed), (5, body.sequence_number))
    for field, value in signed:
        if value is not None:
            chunks += [varlen(field), signed_varlen(value)]
    unsigned = (
        (6, body.immediate_commit_timestamp),
        (7, _unless(body.original_commit_timestamp, body.immediate_commit_timestamp)),
        (8, body.transaction_length),
        (9, body.immediate_server_version),
        (10, _unless(body.original_server_version, body.immediate_server_version)),
        (11, body.commit_group_ticket),
    )
    for field, value in unsigned:
        if value is not None:
            chunks += [varlen(field), varlen(value)]
    return message(body.last_non_ignorable_field, b"".join(chunks) + body.rest)


def _unless(original: int | None, immediate: int | None) -> int | None:
    """Return the original value if it is written: only if it differs from the immediate one."""
    return None if original == immediate else original


def varlen(value: int) -> bytes:
    """Return an unsigned integer below 2**64 in the shortest form of `mysql::serialization`."""
    following = min((max(value.bit_length(), 1) - 1) // 7, 8)
    if following == 8:
        return b"\xff" + _u64(value)
    ones = (1 << following) - 1
    return (value << (following + 1) | ones).to_bytes(following + 1, "little")


def signed_varlen(value: int) -> bytes:
    """Return a signed integer of 64 bits in its shortest form."""
    return varlen(value << 1 if value >= 0 else (-value - 1) << 1 | 1)


def message(last_non_ignorable_field: int, fields: bytes) -> bytes:
    """Return a message with encoded `fields`, after its head."""
    rest = varlen(last_non_ignorable_field) + fields
    version = varlen(1)
    # The size counts itself.
    size = len(version) + 1 + len(rest)
    while len(version) + len(varlen(size)) + len(rest) > size:
        size += 1
    return version + varlen(size) + rest


def _items(items: list[bytes]) -> bytes:
    return b"".join(len(item).to_bytes(2, "little") + item for item in items)


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


ENCODERS: dict[type, Callable[[Any], bytes]] = {
    AnnotateRowsEvent: _annotate_rows,
    AnonymousGtidEvent: _anonymous_gtid,
    AppendBlockEvent: _block,
    BeginLoadQueryEvent: _block,
    BinlogCheckpointEvent: _binlog_checkpoint,
    DeleteFileEvent: _file_id,
    ExecLoadEvent: _file_id,
    ExecuteLoadQueryEvent: _execute_load_query,
    FormatDescriptionEvent: _format_description,
    GtidEvent: _gtid,
    GtidTaggedEvent: _gtid_tagged,
    IgnorableEvent: lambda body: body.data,
    IntvarEvent: _intvar,
    MariadbGtidEvent: _mariadb_gtid,
    MariadbGtidListEvent: _mariadb_gtid_list,
    PartialRowDataEvent: _partial_row_data,
    PreviousGtidsEvent: _previous_gtids,
    QueryEvent: _query,
    RandEvent: _rand,
    RotateEvent: _rotate,
    RowsQueryEvent: _rows_query,
    StartEncryptionEvent: _start_encryption,
    StartEventV3: _start_v3,
    StopEvent: lambda _: b"",
    TransactionContextEvent: _transaction_context,
    UserVarEvent: _user_var,
    ViewChangeEvent: _view_change,
    XaPrepareEvent: _xa_prepare,
    XidEvent: _xid,
}
