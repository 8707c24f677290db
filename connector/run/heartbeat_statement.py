"""Executes a statement at the source with each heartbeat.

It lets the log of an idle source grow. It has a thread and a session of its own, because the stream
must not wait for a lock at the source. Debezium: `heartbeat.action.query`.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import structlog

from connector.errors import ConnectorError, source_setup
from connector.errors.fields import line
from connector.source.server.select_session import SelectSession
from connector.system.background import Background

if TYPE_CHECKING:
    from connector.settings.sections import SourceSettings


class HeartbeatStatement(Background):
    """A thread that executes `source.heartbeat_statement` when it is asked to.

    A failure is a warning in the log, once for each cause, and the next execution tries again on a
    new session.
    """

    def __init__(self, settings: SourceSettings) -> None:
        """Execute at the server of `settings`; the thread starts when it is first asked."""
        super().__init__("heartbeat statement")
        self._settings = settings
        self._asked = Event()
        self._session: SelectSession | None = None
        self._told = ""

    def ask(self) -> None:
        """Let the statement be executed once; does not wait."""
        if self._thread.ident is None:
            self.start()
        self._asked.set()

    def close(self) -> None:
        """End a statement that still runs, and the thread."""
        self._closed.set()
        self._asked.set()
        session = self._session
        if session is not None:
            session.close()
        super().close()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._closed.is_set():
                break
            try:
                self._execute()
            except ConnectorError as error:
                self._end_session()
                self._tell(error)
            else:
                self._told = ""
        self._end_session()

    def _execute(self) -> None:
        if self._session is None:
            self._session = SelectSession(self._settings)
        self._session.query(self._settings.heartbeat_statement)

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _tell(self, error: ConnectorError) -> None:
        said = str(error.message.facts.get("said", error.message.what))
        if said != self._told and not self._closed.is_set():
            self._told = said
            log = structlog.get_logger()
            log.warning(**line(source_setup.HEARTBEAT_FAILED, said=said))
