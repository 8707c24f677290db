"""A defect of the job becomes an error of the table in which it shows.

Only what a program raises when its own assumptions fail is a defect. What the machine, the storage
or Kafka raise concerns all tables, and passes.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

from connector.errors import MirrorError, mirror

DEFECTS: Final = (
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
)
# The innermost places of the code that are told.
_PLACES_MAX: Final = 4
_FOLDER: Final = Path(__file__).parents[2]


def table_defect(topic: str, error: Exception) -> MirrorError:
    """Return the error of a table; it has no text of `error`, which may hold values."""
    frames = traceback.extract_tb(error.__traceback__)[-_PLACES_MAX:]
    places = [f"{_short(frame.filename)}:{frame.lineno}" for frame in frames]
    facts = {"topic": topic, "kind": type(error).__name__, "places": places}
    return MirrorError(mirror.TABLE_DEFECT, **facts)


def _short(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(_FOLDER)) if path.is_relative_to(_FOLDER) else path.name
