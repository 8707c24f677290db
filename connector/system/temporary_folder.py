"""The system's folder for temporary files, for what does not fit into memory."""

from __future__ import annotations

import tempfile
from typing import IO


class TemporaryFolder:
    """Makes files that have no name, and end with their process."""

    @property
    def name(self) -> str:
        """The path of the folder."""
        return tempfile.gettempdir()

    def open(self) -> IO[bytes]:
        """Open a new file; raises OSError if there is no room."""
        return tempfile.TemporaryFile(prefix="binlog-connector-")
