"""Which bytes the decoder has read: every read of every PayloadReader, by the bytes it was in.

A reader is made for an event, and others for what lies inside a field. All of them note what they
take and what they pass over, so that after an event has been decoded, its rows and its inner events
with it, the ledger can say what nobody has looked at.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.binlog.header import detect_version
from connector.binlog.payload_reader import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    import pytest

_CLOSED, _OPEN, _READ = range(3)


@dataclass(slots=True)
class Account:
    """What has happened to one sequence of bytes."""

    data: bytes  # kept, so that no other object gets its identity
    states: bytearray
    opened_by: str
    skipped: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, by whom

    def open(self, start: int, end: int) -> None:
        """A reader is going to read these bytes."""
        for place in range(start, end):
            self.states[place] = max(self.states[place], _OPEN)

    def read(self, start: int, end: int) -> None:
        """A reader has read them."""
        self.states[start:end] = bytes((_READ,)) * (end - start)

    def unread(self) -> Iterator[tuple[int, str]]:
        """Yield the places that nobody has read, each with who passed over it last."""
        for place, state in enumerate(self.states):
            if state == _OPEN:
                callers = [by for start, end, by in self.skipped if start <= place < end]
                yield place, callers[-1] if callers else "nobody"


class Ledger:
    """Notes the reads of all readers while it is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._accounts: dict[int, Account] = {}
        initialise = PayloadReader.__init__
        take = PayloadReader.take

        def noted_init(reader: PayloadReader, data: bytes, offset: int = 0, end: int = -1) -> None:
            initialise(reader, data, offset, end)
            caller = sys._getframe(1)
            if caller.f_globals["__name__"] == detect_version.__module__:
                return  # It looks ahead at what is decoded later.
            account = self._accounts.get(id(data))
            if account is None:
                account = Account(data, bytearray(len(data)), _name(caller))
                self._accounts[id(data)] = account
            account.open(offset, reader.end)

        def noted_take(reader: PayloadReader, length: int) -> int:
            start = take(reader, length)
            account = self._accounts.get(id(reader.data))
            caller = sys._getframe(1)
            if account is None:
                return start
            if caller.f_code.co_name == "_take_any":
                assert caller.f_back is not None
                caller = caller.f_back
            if caller.f_code.co_name == "skip":
                assert caller.f_back is not None
                account.skipped.append((start, start + length, _name(caller.f_back)))
            else:
                account.read(start, start + length)
            return start

        monkeypatch.setattr(PayloadReader, "__init__", noted_init)
        monkeypatch.setattr(PayloadReader, "take", noted_take)

    def read(self, data: bytes, start: int, end: int) -> None:
        """Note what was read without a reader."""
        self._accounts[id(data)].read(start, end)

    def close_accounts(self) -> list[Account]:
        """Return the accounts since the last time, and start anew."""
        accounts = list(self._accounts.values())
        self._accounts.clear()
        return accounts


def _name(frame: FrameType) -> str:
    """Return `module.function`."""
    module = frame.f_globals["__name__"].removeprefix("connector.binlog.")
    return f"{module}.{frame.f_code.co_qualname}"
