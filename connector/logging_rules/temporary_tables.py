"""The temporary tables of a session, and what their CREATE and DROP leave in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.logging_rules.log_groups import LoggedText

if TYPE_CHECKING:
    from connector.logging_rules.caches import Caches
    from connector.logging_rules.played_statement import PlayedStatement
    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.session_state import SessionState


class TemporaryTables:
    """The temporary tables of one session."""

    def __init__(self, server: ServerVersion, caches: Caches) -> None:
        """Start without tables."""
        self._server = server
        self._caches = caches
        # Whether their CREATE is in the log, and whether they are T-tables.
        self._tables: dict[str, tuple[bool, bool]] = {}

    @property
    def exist(self) -> bool:
        """Whether the session has any."""
        return bool(self._tables)

    def create(self, statement: PlayedStatement, state: SessionState, *, logged: bool) -> None:
        """Add the table that the statement creates."""
        transactional = any(table.engine.transactional for table in statement.facts.written)
        self._tables[statement.name] = logged, transactional
        self._log(statement.text if logged else "", state, transactional=transactional)

    def drop(self, statement: PlayedStatement, state: SessionState) -> None:
        """Remove the table that the statement drops."""
        created, transactional = self._tables.pop(statement.name)
        text = statement.text if created and not state.row_format_stays else ""
        # Older servers do not know whether a replica has the table; MariaDB remembers its CREATE.
        uncertain = created or not self._server.is_mariadb
        if not text and uncertain and not self._server.mysql_since(8, 0, 4):
            text = f"DROP TEMPORARY TABLE IF EXISTS `{statement.name}`"
        self._log(text, state, transactional=transactional)

    def _log(self, text: str, state: SessionState, *, transactional: bool) -> None:
        """In a transaction, the statement goes to the TC and cannot be rolled back."""
        if not state.in_transaction:
            if text:
                self._caches.write_alone(LoggedText(text))
            return
        direct = state.row_format_stays and self._server.is_mariadb
        to_transaction = transactional or (bool(self._caches.transaction) and not direct)
        if text:
            self._caches.add(LoggedText(text), to_transaction=to_transaction)
            self._caches.flush_statement()
        if (to_transaction and text) or self._server.is_mariadb:
            self._caches.keeps = True
