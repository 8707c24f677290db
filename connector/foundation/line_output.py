"""An output for the lines of a log, whose disk may have no room.

No program ends because nobody can note what it does. A line that the disk does not take is left
out: the state, which `status` shows, says more, and a full disk is an error of the log itself.
"""

import errno
import os
from typing import Final, TextIO, cast

# What the file system of a file says: full, over the quota, read-only, broken.
_OF_DISK: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO))


class LineOutput:
    """Writes what it has got with each `flush`, in order; one thread at a time uses it."""

    def __init__(self, descriptor: int, encoding: str = "utf-8") -> None:
        """Write to an open file."""
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: list[str] = []
        # Whether the file ends in the middle of a line.
        self._is_torn = False

    def write(self, text: str) -> int:
        """Take text, which has whole lines by the next `flush`."""
        self._waiting.append(text)
        return len(text)

    def flush(self) -> None:
        """Write the lines, or leave out what the disk does not take; raises other OSErrors."""
        lines = "".join(self._waiting)
        self._waiting.clear()
        if not lines:
            return
        if self._is_torn:
            lines = "\n" + lines
        rest = memoryview(lines.encode(self._encoding, "backslashreplace"))
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
                self._is_torn = bool(rest)
        except OSError as error:
            if error.errno not in _OF_DISK:
                raise


def line_output(out: TextIO) -> TextIO:
    """Return an output for lines instead of `out`, if this is a file of the system."""
    try:
        return cast("TextIO", LineOutput(out.fileno(), out.encoding))
    except OSError:
        return out
