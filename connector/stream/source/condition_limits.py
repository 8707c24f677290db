"""How long and how deep a user's condition may be."""

from __future__ import annotations

from typing import Final

CHARACTERS_MAX: Final = 4096
# The parser and the printer call themselves for each level.
DEPTH_MAX: Final = 12
