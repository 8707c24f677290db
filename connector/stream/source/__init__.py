"""The source of a stream: the choice of the server, the checks of it, and its tables."""

from typing import Final

# How long and how deep a user's condition may be.
CONDITION_CHARACTERS_MAX: Final = 4096
# The parser and the printer call themselves for each level.
CONDITION_DEPTH_MAX: Final = 12
