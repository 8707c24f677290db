"""Files whose names end in no number get one, because the order of records needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, final

from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.framing.log_position import FIRST_POSITION, file_number
from connector.errors import UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event


@final
class FileNumbers:
    """Gives a number to each file whose name ends in none."""

    def __init__(self, count: int = 0) -> None:
        """Begin after `count` files that got a number."""
        self.count = count
        self._given = ""  # name of the current file,
        self._name = ""  # and the same with a number

    def numbered(self, event: Event) -> Event:
        """Return the event with a file name that ends in a number."""
        if event.position == FIRST_POSITION or event.file != self._given:
            self._given = event.file
            self._name = self._with_number(event.file)
        if event.file == self._name:
            return event
        return _in_file(self._name, event)

    def _with_number(self, file: str) -> str:
        try:
            file_number(file)
        except UnsupportedChange:
            self.count += 1
            return f"{file}.{self.count:06d}"
        return file


def _in_file(name: str, event: Event) -> Event:
    body = event.body
    if isinstance(body, TransactionPayloadEvent):
        view = body.view or iter

        def in_file(events: Iterator[Event]) -> Iterator[Event]:
            return (each.in_file(name) for each in view(events))

        body = replace(body, view=in_file)
    return event.with_body(body).in_file(name)
