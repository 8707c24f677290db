"""The events of recorded files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.header import detect_version
from tests.binlog.source_log import MAGIC, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event


@pytest.fixture
def recorded(shared_binlogs: Path) -> Callable[[str], list[bytes]]:
    """Returns the raw events of a recorded file."""

    def read(name: str) -> list[bytes]:
        data = (shared_binlogs / name).read_bytes()
        return list(split(data)) if data[:4] == MAGIC else [data]

    return read


@pytest.fixture
def decode_file(recorded: Callable[[str], list[bytes]]) -> Callable[[str], Iterator[Event]]:
    """Returns the decoded events of a recorded file."""

    def decode(name: str) -> Iterator[Event]:
        events = recorded(name)
        decoder = EventDecoder(
            file=Path(name).name, version=detect_version(events[0]), counted=True
        )
        return (decoder.decode(data) for data in events)

    return decode
