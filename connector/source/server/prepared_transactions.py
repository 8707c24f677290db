"""XA transactions that a server has prepared: their rows are before the start of a new stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import SourceRefused

if TYPE_CHECKING:
    from connector.source.server.mysql_server import MysqlServer


def prepared_transactions(server: MysqlServer) -> list[str] | None:
    """Return their names as XA statements have them; None if the account may not ask.

    MySQL 8.0 needs the grant XA_RECOVER_ADMIN. Raises SourceUnavailable.
    """
    mariadb = server.identity.flavour == "mariadb"
    try:
        rows = server.query("XA RECOVER FORMAT='SQL'" if mariadb else "XA RECOVER CONVERT XID")
    except SourceRefused:
        return None
    return [str(row["data"]) if mariadb else _name(row) for row in rows]


def _name(row: dict[str, object]) -> str:
    """Return the name in a row; its parts are hexadecimal: 0x6f6e65."""
    digits = str(row["data"]).removeprefix("0x")
    length = 2 * int(str(row["gtrid_length"]))
    return f"X'{digits[:length].lower()}',X'{digits[length:].lower()}',{row['formatID']}"
