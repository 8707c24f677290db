"""The SQL that undoes events."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.undo import Undo
from connector.logs.output import LineOutput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event


def reversed_lines(spool: ReverseSpool) -> bytes:
    """Return the records of a spool as lines, the last one first."""
    file = BytesIO()
    output = LineOutput(file)
    spool.put_reversed(output)
    output.flush()
    return file.getvalue()


def sql_of(events: Iterable[Event], *omitted: str) -> str:
    """Return what `flashback` prints."""
    file = BytesIO()
    output = LineOutput(file)
    with ReverseSpool() as spool:
        undo = Undo(spool, frozenset(omitted))
        for event in events:
            undo.put(event, output)
        assert file.getvalue() == b""
        undo.put_statements(output)
    output.flush()
    return file.getvalue().decode()
