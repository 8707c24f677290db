"""A log as `dump --format text` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.decoder import EventDecoder
from connector.dump.lines.writer import whole
from connector.dump.text.format import TextWriter
from tests.binlog.source_log import split

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(path: Path, *, hexdump: bool = False) -> list[str]:
    decoder = EventDecoder(file=path.name)
    writer = TextWriter(hexdump=hexdump)
    return [
        line
        for data in split(path.read_bytes())
        for line in whole(writer.event(decoder.decode(data)))
    ]
