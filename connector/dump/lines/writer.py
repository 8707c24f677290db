"""Lines: a line with a large value comes in pieces, so that the whole line is never in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

Line = str | Iterator[str]

# Characters or bytes of a value, or bytes of an event's rows; larger ones are written in pieces.
LARGE: Final = 256 * 1024
