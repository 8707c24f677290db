"""The system's folder for temporary files, for data that does not fit into memory."""

from __future__ import annotations

import tempfile
from typing import IO


class TemporaryFolder:
    """Makes files without a name, which disappear when their process ends."""

    @property
    def name(self) -> str:
        """The path of the folder."""
        return tempfile.gettempdir()

    def open(self) -> IO[bytes]:
        """Open a new file; raises OSError if there is no room."""
        return tempfile.TemporaryFile(prefix="binlog-connector-")
