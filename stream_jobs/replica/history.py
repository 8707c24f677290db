"""What the commits between two versions of a Delta table did to its rows.

The log says which files a commit has added and removed, and which of their rows have died. A commit
without `dataChange` (compaction) has moved rows and changed none: it is followed, so that later
deaths are found in the new files, and costs nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.snapshot import State

if TYPE_CHECKING:
    from pyroaring import BitMap

    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.log import Log
    from stream_jobs.delta.snapshot import Snapshot


class DeadRows(NamedTuple):
    """Rows of a file that have died."""

    file: DataFile
    positions: BitMap | None  # None: all that were live in `file`


class History:
    """Follows the commits after one version."""

    def __init__(self, log: Log, since: Snapshot) -> None:
        """Begin at the version `since`."""
        self._log = log
        self._state = State.after(log.path, since)
        # Rows that died. Those of files with new rows alone are left out.
        self.dead: list[DeadRows] = []
        # Files with new rows, and whether a compaction has put older ones beside them.
        self.new: dict[str, bool] = {}
        # Whether rows have changed without changes of the source: other columns, or RESTORE.
        self.is_rewritten = False

    def follow(self, version: int) -> Snapshot:
        """Follow the commits up to `version`, and return it.

        Raises MirrorError if a commit or a deletion vector is gone or damaged.
        """
        for number in range(self._state.version + 1, version + 1):
            self._commit(number, self._log.content(number))
        return self._state.snapshot()

    def _commit(self, version: int, content: bytes) -> None:
        before = dict(self._state.files)
        actions = self._state.replay(version, content)
        is_moved = False
        for remove in (action["remove"] for action in actions if "remove" in action):
            file = before.get(remove["path"])
            if file is not None:
                is_moved |= self._remove(file, is_change=remove.get("dataChange", True))
        has_new = False
        for add in (action["add"] for action in actions if "add" in action):
            path = add["path"]
            if path in before:
                continue
            if add["dataChange"]:
                self.new[path] = False
                has_new = True
            elif is_moved:
                self.new[path] = True
        self.is_rewritten |= has_new and any("metaData" in action for action in actions)

    def _remove(self, file: DataFile, *, is_change: bool) -> bool:
        """Follow that a file is gone or has more dead rows.

        Return whether it had new rows which are in another file now.
        """
        now = self._state.files.get(file.path)
        if now is not None:
            self._die(file, now)
            return False
        is_mixed = self.new.pop(file.path, None)
        if not is_change:
            return is_mixed is not None
        if is_mixed is not False:
            self.dead.append(DeadRows(file, None))
        return False

    def _die(self, before: DataFile, now: DataFile) -> None:
        old, new = self._dead_in(before), self._dead_in(now)
        if old is not None and (new is None or old - new):
            self.is_rewritten = True
        if new is not None and self.new.get(now.path) is not False:
            self.dead.append(DeadRows(now, new if old is None else new - old))

    def _dead_in(self, file: DataFile) -> BitMap | None:
        vector = file.deletion_vector
        if vector is None:
            return None
        return deletion_vectors.load(self._log.storage, self._log.path, vector)
