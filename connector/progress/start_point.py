"""The place in a source's log where a stream begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from connector.gtid import GtidSet, MariadbGtidSet

# Of a GTID set in an error message.
_SHOWN_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A place in the source's log: after `gtid_set` if there is one, else the position."""

    flavour: Literal["mysql", "mariadb"]
    gtid_set: GtidSet | MariadbGtidSet | None
    file: str  # "" if only the set is known, or where it was read from another server
    position: int
    # When the server began the file, seconds since the epoch; 0 if that is not known.
    file_created: int = 0


def shown(gtids: GtidSet | MariadbGtidSet) -> str:
    """Return the set as it is shown in error messages, which a long one would fill."""
    text = str(gtids)
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[:_SHOWN_CHARACTERS_MAX]}... ({len(text)} characters)"
