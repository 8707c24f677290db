"""Rows of the source are read at its pace, and no wait outlives the run."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from connector.foundation.settings.sections import RetrySettings
from verification.foreign import source_rows
from verification.foreign.source_rows import SourceRows
from verification.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    import pytest


def test_the_end_of_the_run_ends_a_wait_for_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[Event] = []

    @contextmanager
    def read(_: object, closing: Event, __: object) -> Iterator[Any]:
        waits.append(closing)
        yield SimpleNamespace()

    page = SimpleNamespace(count=0)
    monkeypatch.setattr(source_rows, "read_rows", lambda *_: (page, True))
    rows: Any = SourceRows.__new__(SourceRows)
    rows.patience = Patience(RetrySettings(), 60.0)
    rows.pace = SimpleNamespace(read=read, settings=SimpleNamespace(chunk_bytes_max=1))
    rows.selected = SimpleNamespace(writer=lambda: None)
    rows.schema, rows.session = SimpleNamespace(name="shop.t"), None
    rows._page(lambda *_: "", (), 1)
    rows.patience.close()
    assert [closing.is_set() for closing in waits] == [True]
