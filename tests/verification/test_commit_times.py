"""The commit times of a log are read on, and from a later cut if their place in it is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog import log_errors
from connector.foundation.contract import Sequence
from connector.foundation.errors import DecodeError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import RetrySettings
from connector.reader import open_binlog
from connector.replication import server_errors
from tests.binlog.files.log_files import three_transactions
from verification import commit_times
from verification.commit_times import CommitTimeCache
from verification.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event


class _Server:
    """The log of a server, whose files are purged one after the other."""

    def __init__(self) -> None:
        self.files = ["binlog.000001", "binlog.000002"]
        self.is_away = False
        self.is_damaged = False
        self.starts: list[str] = []

    def opened(self, _: object, *, start: str, **__: object) -> Any:
        self.starts.append(start)
        file = start.split(":")[1]
        return SimpleNamespace(events=lambda: self._events(file), close=lambda: None)

    def _events(self, file: str) -> Iterator[Event]:
        if self.is_away:
            raise SourceUnavailable(server_errors.UNREACHABLE, server="db1", why="refused")
        if file not in self.files:
            raise SourceRefused(server_errors.PURGED, server="db1", gtids="a:1-2")
        with open_binlog(three_transactions().data, name=file) as reader:
            yield from reader
        if self.is_damaged:
            raise DecodeError(log_errors.NOT_UTF8, field="name")

    @property
    def pipeline(self) -> Any:
        names = [{"Log_name": name} for name in self.files]
        session = SimpleNamespace(query=lambda _: names)
        patience = Patience(RetrySettings(), 0.0)
        return SimpleNamespace(
            session=session, server=None, server_uuid="a", epoch=3, patience=patience
        )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> _Server:
    made = _Server()
    monkeypatch.setattr(commit_times, "ServerLog", made.opened)
    return made


class _Cuts:
    """A cut at the beginning of each file."""

    def read_all(self) -> list[Any]:
        return [
            SimpleNamespace(position=f"binlog.00000{n}:4", seq=str(Sequence(3, n, 4, 0, 0)))
            for n in (1, 2)
        ]


def test_times_begin_at_a_later_cut_if_their_place_in_the_log_is_gone(server: _Server) -> None:
    cache, cuts = CommitTimeCache(), _Cuts()
    first, note = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert first is not None
    assert note == ""
    assert server.starts == ["position:binlog.000001:4"]
    del server.files[0]
    second, note = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert second is not None
    assert note == ""
    assert second.begin > first.begin
    assert server.starts[-1] == "position:binlog.000002:4"
    server.files.clear()
    assert cache.up_to_now(server.pipeline, cuts) == (  # type: ignore[arg-type]
        None,
        "the mirror lists no cut that the log of the server still has",
    )


def test_times_do_not_change_under_a_comparison_while_another_one_reads_on(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, cuts = CommitTimeCache(), _Cuts()
    first, _ = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert first is not None
    begin, places = first.begin, first.ends.copy()
    assert first.times(places).are_known.all()
    # The oldest times are forgotten.
    monkeypatch.setattr(commit_times, "_TRANSACTIONS_MAX", 2)
    later, _ = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert later is not None
    assert later.begin > begin
    assert first.begin == begin
    assert first.times(places).are_known.all()


def test_times_are_kept_while_the_server_is_away(server: _Server) -> None:
    cache, cuts = CommitTimeCache(), _Cuts()
    first, _ = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    server.is_away = True
    none, note = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert none is None
    assert note
    server.is_away = False
    again, _ = cache.up_to_now(server.pipeline, cuts)  # type: ignore[arg-type]
    assert first is not None
    assert again is not None
    assert again.begin == first.begin
    assert again.us[: len(first.us)].tolist() == first.us.tolist()


def test_a_log_is_read_once_up_to_an_event_that_cannot_be_read(server: _Server) -> None:
    cache, cuts = CommitTimeCache(), _Cuts()
    server.is_damaged = True
    looks = {cache.up_to_now(server.pipeline, cuts) for _ in range(3)}  # type: ignore[arg-type]
    assert looks == {(None, "[L181] the name is not UTF-8")}
    first, second, third = server.starts
    assert first == "position:binlog.000001:4"
    assert second == third != first
