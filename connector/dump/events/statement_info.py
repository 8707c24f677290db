"""Statements and their context events become their texts in SHOW BINLOG EVENTS.

The servers' `pack_info` of QUERY, EXECUTE_LOAD_QUERY, the LOAD family, INTVAR, RAND and USER_VAR.
A byte that is not UTF-8 becomes a lone surrogate, as `surrogateescape` makes it.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.json_scalars import double_text
from connector.binlog.events.context import UserVarType
from connector.binlog.events.load import LoadFlag
from connector.codec.sql_text import quoted_identifier

if TYPE_CHECKING:
    from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
    from connector.binlog.events.load import CreateFileEvent, LoadEvent
    from connector.binlog.events.statement import ExecuteLoadQueryEvent, QueryEvent
    from connector.dump.events.server_release import ServerRelease

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


def query_info(event: QueryEvent, flags: int, server: ServerRelease) -> str:
    """Return the text of a QUERY_EVENT whose header has `flags`."""
    use = "" if flags & LOG_EVENT_SUPPRESS_USE_F else _use(event.schema)
    query = event.query_bytes
    if server.mariadb:
        return use + _mariadb_options(event.status_variables.flags2 or 0, server) + text_of(query)
    if server.version >= _STATEMENT_ENDS_AT_ZERO:
        query = query.partition(b"\0")[0]
    ddl_xid = event.status_variables.ddl_xid
    return use + text_of(query) + ("" if ddl_xid is None else f" /* xid={ddl_xid} */")


def execute_load_query_info(event: ExecuteLoadQueryEvent) -> str:
    """Return the text of an EXECUTE_LOAD_QUERY_EVENT."""
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


def load_info(event: LoadEvent) -> str:
    """Return the text of a LOAD_EVENT or NEW_LOAD_EVENT."""
    form = event.format
    flags = form.opt_flags
    parts = [f"use `{event.schema}`; " if event.schema else "", "LOAD DATA INFILE "]
    parts.append(f"'{event.file_name}' ")
    if flags & LoadFlag.REPLACE:
        parts.append(" REPLACE ")
    elif flags & LoadFlag.IGNORE:
        parts.append(" IGNORE ")
    parts.append(f"INTO TABLE `{event.table}` FIELDS TERMINATED BY {_literal(form.field_term)}")
    parts.append(" OPTIONALLY " if flags & LoadFlag.OPT_ENCLOSED else "")
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


def create_file_info(event: CreateFileEvent) -> str:
    """Return the text of a CREATE_FILE_EVENT."""
    return (
        f"db={event.schema};table={event.table};file_id={event.file_id};"
        f"block_len={len(event.block)}"
    )


def intvar_info(event: IntvarEvent) -> str:
    """Return the text of an INTVAR_EVENT; the server shows the value with a sign."""
    return f"{event.name}={_signed(event.value)}"


def rand_info(event: RandEvent, server: ServerRelease) -> str:
    """Return the text of a RAND_EVENT; MariaDB shows the values with a sign."""
    seeds = (event.seed1, event.seed2)
    seed1, seed2 = map(_signed, seeds) if server.mariadb else seeds
    return f"rand_seed1={seed1},rand_seed2={seed2}"


def _signed(value: int) -> int:
    return value - _UINT64 if value > _INT64_MAX else value


def user_var_info(event: UserVarEvent, server: ServerRelease) -> str:
    """Return the text of a USER_VAR_EVENT."""
    name = f"@{quoted_identifier(event.name)}="
    if event.data_type:
        name += f"/*{event.data_type}*/"
    if event.value is None:
        return f"{name}NULL"
    if event.type is not UserVarType.STRING:
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
