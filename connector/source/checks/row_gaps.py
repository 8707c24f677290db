"""What changes of followed tables would not arrive as rows, by the rules of the server.

`check` shows it. It changes nothing about whether a stream starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import source_rows
from connector.errors.message import Message
from connector.source.checks.cascades import cascade_gaps
from connector.source.checks.engine_gaps import engine_gaps
from connector.source.checks.format_gaps import format_gaps, session_gaps
from connector.source.checks.grants import account_of, global_privileges
from connector.source.checks.image_gaps import (
    generated_gaps,
    image_gaps,
    key_gaps,
    version_gaps,
)
from connector.source.checks.program_gaps import program_gaps
from connector.source.checks.row_gap import RowGap
from connector.source.server.product import version_of
from connector.source.tables.base_tables import are_hidden, followed_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer
    from connector.source.tables.base_tables import BaseTable

_RIGHTS: Final = {"triggers": "TRIGGER", "events": "EVENT"}


def row_gaps(
    server: MysqlServer, settings: SourceSettings, tables: Sequence[BaseTable], *, copies: bool
) -> Iterator[RowGap]:
    """Yield what would not arrive as rows; `tables` are all that the account sees.

    `copies` says whether the pipeline copies rows that foreign keys change. Raises
    SourceUnavailable or SourceRefused.
    """
    version = version_of(server.identity)
    wanted = followed_by(server, settings)
    followed = [table for table in tables if wanted.follows(table.database, table.name)]
    yield from format_gaps(server, version)
    yield from session_gaps(server)
    yield from image_gaps(server, version, followed)
    yield from generated_gaps(server, version, followed)
    yield from version_gaps(server, version, followed)
    yield from cascade_gaps(server, wanted, copies=copies)
    yield from engine_gaps(followed, version)
    yield from program_gaps(server, wanted, {table.database for table in followed})
    yield from key_gaps(server, version, followed)
    yield from _hidden(server, settings, tables)


def _hidden(
    server: MysqlServer, settings: SourceSettings, tables: Sequence[BaseTable]
) -> Iterator[RowGap]:
    """Yield what the account does not see of all databases."""
    held = global_privileges(server)
    lacking = {}
    if not held & {"ALL PRIVILEGES", "ALL"}:
        lacking = {name: right for name, right in _RIGHTS.items() if right not in held}
        if are_hidden(tables) and "SELECT" not in held:
            lacking = {"tables": "SELECT", **lacking}
    if lacking:
        facts = {
            "objects": list(lacking),
            "rights": list(lacking.values()),
            "account": account_of(server, settings),
        }
        yield RowGap("", Message(source_rows.HIDDEN, facts))
