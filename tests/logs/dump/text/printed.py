"""A log as `dump --format text` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.decoder import EventDecoder
from connector.logs.dump.text.format import TextFormat
from tests.binlog.source_log import split
from tests.logs.dump import written

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(path: Path, *, hexdump: bool = False) -> list[str]:
    decoder = EventDecoder(file=path.name)
    events = (decoder.decode(data) for data in split(path.read_bytes()))
    return list(written.lines_of(TextFormat(hexdump=hexdump), events))
