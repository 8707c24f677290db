"""A reason for which changes of followed tables would not arrive as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.errors.message import Message


@dataclass(frozen=True, slots=True)
class RowGap:
    """One rule of a server that leaves changes out of the rows of its log.

    `rule` has a name of docs/logging-rules.md. `places` are tables or programs, each with the
    statement that fixes it, with more about it, or with "".
    """

    rule: str
    problem: Message
    places: tuple[tuple[str, str], ...] = ()
