"""The last events of the process: the log's lines, kept for the status page.

Every fact that a person may ask for afterwards has a log line: connect, failover, DDL, fence,
retry, copy. So nothing else has to tell of it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from connector.status.facts import Happened
from connector.status.state_report import REPORT
from connector.status.summary import SUMMARY

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_KEPT = 100
_CHARACTERS_MAX = 2000
# Lines that say what the page shows anyway.
_PERIODIC = frozenset({"copying", REPORT, SUMMARY})
_LEVELS = frozenset({"info", "warning", "error"})
# Fields that are members of `Happened`, or only for machines.
_OWN_FIELDS = frozenset({"event", "level", "timestamp", "code"})


class RecentEvents:
    """Keeps the last hundred lines; any thread may add one."""

    def __init__(self) -> None:
        """Begin without an event."""
        self._lock = threading.Lock()
        self._kept: deque[Happened] = deque(maxlen=_KEPT)

    def keep(
        self, logger: object, method: str, entry: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Keep a line of the log, and pass it on: a processor of structlog."""
        del logger, method
        if entry["event"] not in _PERIODIC and entry["level"] in _LEVELS:
            self._add(_happened(entry))
        return entry

    def newest_first(self) -> list[Happened]:
        """Return the events that are kept."""
        with self._lock:
            return list(reversed(self._kept))

    def _add(self, event: Happened) -> None:
        with self._lock:
            last = self._kept[-1] if self._kept else None
            if last is not None and _kind(last) == _kind(event):
                # A retry every second must not push out everything else.
                self._kept[-1] = replace(event, at=last.at, times=last.times + 1, last_at=event.at)
            else:
                self._kept.append(event)


def _happened(entry: MutableMapping[str, Any]) -> Happened:
    return Happened(
        at=time.time(),
        level=entry["level"],
        what=str(entry["event"])[:_CHARACTERS_MAX],
        details={
            name: str(value)[:_CHARACTERS_MAX]
            for name, value in entry.items()
            if name not in _OWN_FIELDS and value is not None
        },
        code=entry.get("code"),
    )


def _kind(event: Happened) -> tuple[str, str | None, str | None]:
    return event.what, event.code, event.details.get("table")
