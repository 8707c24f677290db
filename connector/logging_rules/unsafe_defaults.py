"""DEFAULT expressions with an unsafe function: when the statement is unsafe by them.

MySQL (8.0.13) asks whether a row gets the value. MariaDB asks whether the table is written at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.logging_rules.statement_facts import INSERTS, Kind

if TYPE_CHECKING:
    from connector.logging_rules.parsed_statement import ParsedStatement
    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.table import Table

_INSERTS: Final = INSERTS | {Kind.REPLACE, Kind.REPLACE_SELECT, Kind.LOAD_DATA}


def takes_unsafe_default(parsed: ParsedStatement, table: Table, server: ServerVersion) -> bool:
    """Return whether the statement, which writes the table, is unsafe by one of its DEFAULTs."""
    unsafe = {
        column.name.lower(): place
        for place, column in enumerate(table.columns)
        if column.unsafe_default
    }
    if server.is_mariadb or not unsafe:
        return bool(unsafe)
    taken = {column.lower() for column in parsed.defaults}
    if parsed.kind in _INSERTS and parsed.listed:
        listed = {column.lower() for column in parsed.listed}
        taken |= unsafe.keys() - listed
    elif parsed.kind in _INSERTS:
        taken |= {name for name, place in unsafe.items() if place in parsed.default_places}
    return bool(unsafe.keys() & taken)
