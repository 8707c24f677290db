"""The column Info of SHOW BINLOG EVENTS, as the servers' `pack_info` makes it.

The texts differ between servers, and a few between releases: `ServerRelease` says which apply.
A byte that is not UTF-8 becomes a lone surrogate, as `surrogateescape` makes it.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
https://mariadb.com/kb/en/show-binlog-events/
"""

from collections.abc import Callable
from typing import Any

from connector.binlog.columns.json_scalars import double_text
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events import context, control, gtid_tagged, load, mariadb, query, transaction
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import STMT_END_F
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import EventHeader
from connector.binlog.sql_text import quoted_identifier
from connector.logs.server_release import ServerRelease, event_type_text

# In an event's header: the statement does not depend on the default database.
LOG_EVENT_SUPPRESS_USE_F = 0x0008

# From here on MySQL ends the text of a statement at a zero byte.
_STATEMENT_ENDS_AT_ZERO = (5, 7, 0)

# The session's options in a QUERY_EVENT, in the order in which MariaDB shows them: the bit of
# flags2, the name, the value that the bit stands for, and what it showed instead before MDEV-29804.
_MARIADB_OPTIONS: tuple[tuple[int, str, str, str], ...] = (
    (1 << 26, "foreign_key_checks", "=0", "=1"),
    (1 << 14, "sql_auto_is_null", "=1", ""),
    (1 << 27, "unique_checks", "=0", "=1"),
    (1 << 15, "check_constraint_checks", "=0", "=1"),
    (1 << 28, "@@sql_if_exists", "=1", "=1"),
    (1 << 30, "@@system_versioning_insert_history", "=1", "=1"),
)
# First releases with MDEV-29804, by series; every later series has it.
_OPTIONS_SHOWN_RIGHT: dict[tuple[int, int], int] = {(10, 11): 17, (11, 4): 11, (11, 8): 7}
_OPTIONS_SHOWN_RIGHT_SERIES = (12, 3)

# MariaDB shows the bytes of a user variable as X'…' from here on, as 0x… before, and so does MySQL.
_QUOTED_DIGITS = (10, 5, 0)

_INT64_MAX = 2**63 - 1
_UINT64 = 2**64


def text_of(raw: bytes) -> str:
    """Return text from which `surrogateescape` restores every byte."""
    return raw.decode("utf-8", "surrogateescape")


def _query(event: query.QueryEvent, flags: int, server: ServerRelease) -> str:
    use = "" if flags & LOG_EVENT_SUPPRESS_USE_F else _use(event.schema)
    statement = event.query_bytes
    if server.mariadb:
        options = _mariadb_options(event.status_variables.flags2 or 0, server)
        return use + options + text_of(statement)
    if server.version >= _STATEMENT_ENDS_AT_ZERO:
        statement = statement.partition(b"\0")[0]
    ddl_xid = event.status_variables.ddl_xid
    return use + text_of(statement) + ("" if ddl_xid is None else f" /* xid={ddl_xid} */")


def _execute_load_query(event: query.ExecuteLoadQueryEvent) -> str:
    return f"{_use(event.schema)}{text_of(event.query_bytes)} ;file_id={event.file_id}"


def _use(schema: str) -> str:
    return f"use {quoted_identifier(schema)}; " if schema else ""


def _mariadb_options(flags2: int, server: ServerRelease) -> str:
    series = server.version[:2]
    right = series >= _OPTIONS_SHOWN_RIGHT_SERIES or server.version[2] >= _OPTIONS_SHOWN_RIGHT.get(
        series, _INT64_MAX
    )
    shown = [
        name + (value if right else old_value)
        for bit, name, value, old_value in _MARIADB_OPTIONS
        if flags2 & bit
    ]
    return f"set {', '.join(shown)}; " if shown else ""


def load_info(event: load.LoadEvent) -> str:
    """Return the text of a LOAD_EVENT or NEW_LOAD_EVENT."""
    form = event.format
    flags = form.opt_flags
    parts = [f"use `{event.schema}`; " if event.schema else "", "LOAD DATA INFILE "]
    parts.append(f"'{event.file_name}' ")
    if flags & load.LoadFlag.REPLACE:
        parts.append(" REPLACE ")
    elif flags & load.LoadFlag.IGNORE:
        parts.append(" IGNORE ")
    parts.append(f"INTO TABLE `{event.table}` FIELDS TERMINATED BY {_literal(form.field_term)}")
    parts.append(" OPTIONALLY " if flags & load.LoadFlag.OPT_ENCLOSED else "")
    parts.append(f" ENCLOSED BY {_literal(form.enclosed)} ESCAPED BY {_literal(form.escaped)}")
    parts.append(f" LINES TERMINATED BY {_literal(form.line_term)}")
    if form.line_start:
        parts.append(f" STARTING BY {_literal(form.line_start)}")
    if event.skip_lines:
        parts.append(f" IGNORE {event.skip_lines} LINES ")
    if event.columns:
        parts.append(f" ({' ,'.join(event.columns)})")
    return "".join(parts)


_LITERALS = str.maketrans(
    {
        "\n": "\\n",
        "\r": "\\r",
        "\\": "\\\\",
        "\b": "\\b",
        "\t": "\\t",
        "'": "\\'",
        "\0": "\\0",
    }
)


def _literal(raw: bytes) -> str:
    return f"'{text_of(raw).translate(_LITERALS)}'"


def _create_file(event: load.CreateFileEvent) -> str:
    return (
        f"db={event.schema};table={event.table};file_id={event.file_id};"
        f"block_len={len(event.block)}"
    )


def _intvar(event: context.IntvarEvent) -> str:
    # The server shows the value with a sign.
    return f"{event.name}={_signed(event.value)}"


def _rand(event: context.RandEvent, server: ServerRelease) -> str:
    # MariaDB shows the values with a sign.
    seeds = (event.seed1, event.seed2)
    seed1, seed2 = map(_signed, seeds) if server.mariadb else seeds
    return f"rand_seed1={seed1},rand_seed2={seed2}"


def _signed(value: int) -> int:
    return value - _UINT64 if value > _INT64_MAX else value


def _user_var(event: context.UserVarEvent, server: ServerRelease) -> str:
    name = f"@{quoted_identifier(event.name)}="
    if event.data_type:
        name += f"/*{event.data_type}*/"
    if event.value is None:
        return f"{name}NULL"
    if event.type is not context.UserVarType.STRING:
        return name + number_text(event.value)
    names = server.charset_and_collation(event.collation)
    if names is None:
        # In that case MariaDB leaves out the name of the variable.
        return "???" if server.mariadb else f"{name}???"
    charset, collation = names
    return f"{name}_{charset} {_hexadecimal(event.raw_value or b'', server)} COLLATE {collation}"


def number_text(value: float | str | bytes) -> str:
    """Return a number as the server prints it."""
    return double_text(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _hexadecimal(raw: bytes, server: ServerRelease) -> str:
    if not raw:
        return '""'
    digits = raw.hex().upper()
    quoted = server.mariadb and server.version >= _QUOTED_DIGITS
    return f"X'{digits}'" if quoted else f"0x{digits}"


# What would end a line or a column, or steer a terminal.
ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
)

# Before this release MySQL shows only the flag for the end of the statement in a rows event.
_MORE_ROWS_FLAGS = (9, 6, 0)

ROWS_FLAGS = {
    STMT_END_F: "STMT_END_F",
    0x0002: "NO_FOREIGN_KEY_CHECKS_F",
    0x0004: "RELAXED_UNIQUE_CHECKS_F",
    0x0008: "COMPLETE_ROWS_F",
    0x0010: "USE_SQL_FOREIGN_KEY_F",
}

# From this release on MariaDB sorts the entries of a GTID_LIST_EVENT.
_SORTED_GTID_LIST = (10, 8, 0)


def event_info(body: object, header: EventHeader, server: ServerRelease) -> str:
    """Return the text that `server` shows for an event; empty if it shows none."""
    info = _INFO.get(type(body))
    return "" if info is None else info(body, header, server)


def _start(body: StartEventV3 | FormatDescriptionEvent) -> str:
    return f"Server ver: {body.server_version}, Binlog ver: {body.binlog_version}"


def _incident(body: control.IncidentEvent) -> str:
    # The server shows the message if it is empty: the test in its code is inverted.
    return f"#{body.incident} ({body.name})" + ("" if body.message else ": ")


def _ignorable(header: EventHeader, server: ServerRelease) -> str:
    if server.mariadb:
        name = event_type_text(header.type_code, server)
        return f"# Ignorable event type {header.type_code} ({name})"
    return "# Unrecognized ignorable event"


def _rows(body: RowsEvent, server: ServerRelease) -> str:
    return f"table_id: {body.table_map.table_id}{rows_flags(body.flags, server)}"


def rows_flags(flags: int, server: ServerRelease) -> str:
    """Return what `server` shows of the flags of a rows event, after its table id."""
    shown = flags
    if server.mariadb or server.version < _MORE_ROWS_FLAGS:
        shown &= STMT_END_F
    names = "".join(f" {name}" for flag, name in ROWS_FLAGS.items() if shown & flag)
    return f" flags:{names}" if names else ""


def _gtid(gtid: object) -> str:
    return f"SET @@SESSION.GTID_NEXT= '{gtid}'"


def _mariadb_gtid(body: mariadb.MariadbGtidEvent) -> str:
    begin = "" if body.standalone else "XA START " if body.prepared_xa else "BEGIN "
    xid = f"{body.xid} " if body.prepared_xa else ""
    commit_id = "" if body.commit_id is None else f" cid={body.commit_id}"
    alter = "".join(
        f" {verb} ALTER" + ("" if flag == mariadb.FL_START_ALTER_E1 else f" id={body.sa_seq_no}")
        for flag, verb in _ALTERS.items()
        if body.flags_extra & flag
    )
    return f"{begin}{xid}GTID {body.gtid}{commit_id}{alter}"


_ALTERS = {
    mariadb.FL_START_ALTER_E1: "START",
    mariadb.FL_COMMIT_ALTER_E1: "COMMIT",
    mariadb.FL_ROLLBACK_ALTER_E1: "ROLLBACK",
}


def _gtid_list(body: mariadb.MariadbGtidListEvent, server: ServerRelease) -> str:
    gtids = body.gtids
    if server.version >= _SORTED_GTID_LIST:
        gtids = sorted(gtids, key=lambda gtid: (gtid.domain_id, gtid.sequence))
    return f"[{','.join(map(str, gtids))}]"


def _xa_prepare(body: transaction.XaPrepareEvent) -> str:
    return f"XA COMMIT {body.xid} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xid}"


def _payload(body: TransactionPayloadEvent) -> str:
    payload = body.payload
    return (
        f"compression='{payload.compression.name}', "
        f"decompressed_size={payload.uncompressed_size} bytes"
    )


def _block(body: load.AppendBlockEvent | load.BeginLoadQueryEvent) -> str:
    return f";file_id={body.file_id};block_len={len(body.block)}"


def _slave(body: control.SlaveEvent) -> str:
    return (
        f"host={body.master_host},port={body.master_port},log={body.master_log},"
        f"pos={body.master_pos}"
    )


# The class of the body decides the type of the first argument.
_INFO: dict[type, Callable[[Any, EventHeader, ServerRelease], str]] = {
    StartEventV3: lambda body, _, __: _start(body),
    FormatDescriptionEvent: lambda body, _, __: _start(body),
    query.QueryEvent: lambda body, header, server: _query(body, header.flags, server),
    query.ExecuteLoadQueryEvent: lambda body, _, __: _execute_load_query(body),
    control.RotateEvent: lambda body, _, __: f"{body.next_file};pos={body.next_position}",
    context.IntvarEvent: lambda body, _, __: _intvar(body),
    context.RandEvent: lambda body, _, server: _rand(body, server),
    context.UserVarEvent: lambda body, _, server: _user_var(body, server),
    load.LoadEvent: lambda body, _, __: load_info(body),
    control.SlaveEvent: lambda body, _, __: _slave(body),
    load.CreateFileEvent: lambda body, _, __: _create_file(body),
    load.AppendBlockEvent: lambda body, _, __: _block(body),
    load.BeginLoadQueryEvent: lambda body, _, __: _block(body),
    load.ExecLoadEvent: lambda body, _, __: f";file_id={body.file_id}",
    load.DeleteFileEvent: lambda body, _, __: f";file_id={body.file_id}",
    control.IncidentEvent: lambda body, _, __: _incident(body),
    control.IgnorableEvent: lambda _, header, server: _ignorable(header, server),
    query.RowsQueryEvent: lambda body, _, __: f"# {text_of(body.query_bytes)}",
    TableMapEvent: lambda body, _, __: f"table_id: {body.table_id} ({body.schema}.{body.table})",
    RowsEvent: lambda body, _, server: _rows(body, server),
    transaction.GtidEvent: lambda body, _, __: _gtid(body.gtid),
    gtid_tagged.GtidTaggedEvent: lambda body, _, __: _gtid(body.gtid),
    transaction.AnonymousGtidEvent: lambda _, __, ___: _gtid("ANONYMOUS"),
    transaction.PreviousGtidsEvent: lambda body, _, __: str(body.gtid_set).replace(",", ",\n"),
    transaction.XidEvent: lambda body, _, __: f"COMMIT /* xid={body.xid} */",
    transaction.XaPrepareEvent: lambda body, _, __: _xa_prepare(body),
    control.TransactionContextEvent: lambda body, _, __: (
        f"server_uuid={body.server_uuid}\tthread_id={body.thread_id}"
    ),
    control.ViewChangeEvent: lambda body, _, __: f"view_id={body.view_id}",
    TransactionPayloadEvent: lambda body, _, __: _payload(body),
    mariadb.AnnotateRowsEvent: lambda body, _, __: text_of(body.query_bytes),
    mariadb.BinlogCheckpointEvent: lambda body, _, __: body.file,
    mariadb.MariadbGtidEvent: lambda body, _, __: _mariadb_gtid(body),
    mariadb.MariadbGtidListEvent: lambda body, _, server: _gtid_list(body, server),
}
