"""One file is counted, block by block: its groups from their bytes, all else event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.stat.group_counts import GroupCounts

if TYPE_CHECKING:
    from connector.reader.file_log import FileLog
    from connector.stat.statistics import Statistics


@final
class LogCounts:
    """Adds the events of one file to the statistics."""

    def __init__(self, log: FileLog, statistics: Statistics) -> None:
        """Count what `log` has from its current position on."""
        self._log = log
        self._statistics = statistics
        self._groups = GroupCounts(statistics, log.name)

    def take(self) -> bool:
        """Count the next event, and all that are in memory with it; return False at the end.

        Raises the errors of reading; what came before is counted.
        """
        log = self._log
        statistics = self._statistics
        event = log.next_event()
        if event is None:
            return False
        while event is not None:
            statistics.add(event)
            if statistics.is_between:
                events = log.received()
                if events is not None:
                    end = self._groups.take(events, log.trailer, log.position)
                    if end > events.start:
                        log.pass_over(end)
            event = log.opened_event()
        return True
