"""The row changes that the source's own log holds, read from its files by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.reader import open_binlogs
from tests.stream_jobs.history_oracle import CommitTimes

if TYPE_CHECKING:
    from pathlib import Path


class RowChange(NamedTuple):
    """What a change did to a key."""

    before: int | None  # the id before; None for a new row
    after: int | None  # the id after; None if the row was deleted
    tick: int  # of the row after; else 0


class SourceLog:
    """The log of a server that does nothing now."""

    def __init__(self, data: Path) -> None:
        """Read the log files in the folder `data` when somebody asks."""
        self._data = data
        self._sizes: list[int] = []
        self._changes: dict[str, list[RowChange]] = {}
        self._times: CommitTimes | None = None

    def times(self) -> CommitTimes:
        """Return when each transaction was committed."""
        files = self._files()
        if self._times is None:
            if not files:
                return CommitTimes({}, {})
            with open_binlogs(files) as log:
                self._times = CommitTimes.of_log(log)
        return self._times

    def changes(self, database: str) -> list[RowChange]:
        """Return the changes of all rows of a database, in their order."""
        files = self._files()
        if files and not self._changes:
            with open_binlogs(files) as log:
                for change in log.row_changes():
                    own = self._changes.setdefault(change.database, [])
                    before, after = change.before or {}, change.after or {}
                    own.append(
                        RowChange(before.get("id"), after.get("id"), int(after.get("tick", 0)))  # type: ignore[arg-type] # both columns are INT
                    )
        return self._changes.get(database, [])

    def _files(self) -> list[Path]:
        """Return the files; forget what was read of them if they have changed since."""
        files = sorted(self._data.glob("binlog.[0-9]*[0-9]"))
        sizes = [file.stat().st_size for file in files]
        if sizes != self._sizes:
            self._sizes, self._changes, self._times = sizes, {}, None
        return files
