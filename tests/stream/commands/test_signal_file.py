"""Signals of a file are done once, and none that is appended meanwhile is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from connector.binlog.gtid import GtidSet
from connector.foundation.errors.message import Message
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.commands import request_errors, signals
from connector.stream.commands.signals import FileSignals, SignalFile
from connector.stream.progress.stream_position import Instance, StreamPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from connector.stream.commands.signals import Signal
    from connector.stream.progress.progress_record import Progress

PATIENCE_SECONDS = 30.0
SIGNAL = '{"id":"a","type":"log","data":{"message":"m"}}\n'


class Run:
    """A run of a pipeline that goes on after a progress record, and what it has done."""

    def __init__(self, path: Path, last: Progress | None = None) -> None:
        identity = ServerIdentity("mysql", "8.0.31", (8, 0, 31), "server", 1, gtid=True)
        point = StartPoint("mysql", GtidSet(), "binlog.000001", 4)
        self.position = StreamPosition(identity, point, last)
        self.done: list[Signal] = []
        file = SignalFile(path, self.position.signals_file, look_seconds=0.01)
        self.signals = FileSignals(file, self.position, {"log": self.done.append})

    def commit(self) -> Progress:
        """Write a progress record."""
        return self.position.progress(Instance("i", "h", 1), "", {}, 0)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Give turns until something holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline
            self.signals.step()
            time.sleep(0.005)

    def wait_for(self, count: int) -> None:
        """Give turns until so many signals are done."""
        self.wait(lambda: len(self.done) >= count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file-signals.txt"


@pytest.fixture
def run(path: Path) -> Iterator[Run]:
    found = Run(path)
    yield found
    found.signals.close()


def files(path: Path) -> list[str]:
    return [each.name for each in path.parent.iterdir()]


def test_signals_are_done_together_and_their_file_is_removed(path: Path, run: Run) -> None:
    path.write_text(SIGNAL + "\n" + SIGNAL.replace('"a"', '"b"'))
    run.wait_for(1)
    assert [(signal.id, signal.data) for signal in run.done] == [
        ("a", {"message": "m"}),
        ("b", {"message": "m"}),
    ]
    # The file is free for the next signals, which wait for the commit of these.
    assert not path.exists()
    path.write_text(SIGNAL)
    run.signals.step()
    assert len(run.done) == 2
    run.commit()
    run.wait_for(3)
    run.commit()
    run.wait(lambda: not files(path))


def test_what_was_not_committed_is_done_again(path: Path, run: Run) -> None:
    path.write_text(SIGNAL)
    run.wait_for(1)
    run.signals.close()
    again = Run(path)
    again.wait_for(1)
    again.commit()
    again.wait(lambda: not files(path))
    again.signals.close()


def test_what_was_committed_is_not_done_again(path: Path, run: Run) -> None:
    path.write_text(SIGNAL)
    run.wait_for(1)
    last = run.commit()
    run.signals.close()
    assert len(files(path)) == 1
    again = Run(path, last)
    again.wait(lambda: not files(path))
    assert again.done == []
    # The same text is another signal.
    path.write_text(SIGNAL)
    again.wait_for(1)
    again.signals.close()


def test_what_is_no_signal_is_refused(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with capture_logs() as lines:
        path.write_text("log\n" + SIGNAL)
        run.wait_for(1)
        run.commit()
        run.wait(lambda: not files(path))
        monkeypatch.setattr(signals, "_BYTES_MAX", 10)
        path.write_text(SIGNAL)
        run.wait(lambda: run.position.is_changed)
    assert [line["error"] for line in lines if line["log_level"] == "error"] == [
        "it is not JSON",
        f"it has {len(SIGNAL)} bytes, of 10 at most",
    ]
    assert len(run.done) == 1


def test_a_file_that_cannot_be_taken_is_said_once(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    with capture_logs() as lines:
        run = Run(folder / "signals")

        def said() -> list[dict[str, Any]]:
            return [dict(line) for line in lines if line["log_level"] == "error"]

        run.wait(lambda: bool(said()))
        folder.mkdir()
        (folder / "signals").write_text(SIGNAL)
        run.wait_for(1)
        run.signals.close()
    (line,) = said()
    facts = {"path": str(folder / "signals"), "said": "No such file or directory"}
    assert line["error"] == Message(request_errors.SIGNAL_FILE, facts).text
