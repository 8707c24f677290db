"""What a format that writes bytes makes of events."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from connector.logs.output import LineOutput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.binlog.event import Event
    from connector.logs.output import ByteFormat


def lines_of(writer: ByteFormat, events: Iterable[Event]) -> Iterator[str]:
    """Yield the lines of events, event by event."""
    for event in events:
        file = BytesIO()
        output = LineOutput(file)
        writer.received()
        writer.put(event, output)
        output.flush()
        text = file.getvalue().decode("utf-8", "surrogateescape")
        if text:
            # Not splitlines: other ends of lines are text.
            yield from text.removesuffix("\n").split("\n")
