"""Lines of a log on a disk that has no room, and that has room again."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import pytest
import structlog

from connector.foundation.line_output import LineOutput, line_output

if TYPE_CHECKING:
    from collections.abc import Callable

FULL = Path("/dev/full")


class Disk:
    """Takes so many bytes from now on; `write` is that of the operating system."""

    def __init__(self, write: Callable[[int, memoryview], int]) -> None:
        self._write = write
        self.room = 1 << 20
        self.error = errno.ENOSPC

    def write(self, descriptor: int, content: memoryview) -> int:
        if not self.room:
            raise OSError(self.error, os.strerror(self.error))
        written = self._write(descriptor, content[: self.room])
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    own = Disk(os.write)
    monkeypatch.setattr(os, "write", own.write)
    return own


def test_a_full_disk_ends_no_program_that_logs() -> None:
    full = os.open(FULL, os.O_WRONLY)
    log = structlog.wrap_logger(structlog.PrintLogger(cast("TextIO", LineOutput(full))))
    for number in range(3):
        log.info("a line", number=number)
    with pytest.raises(OSError, match="No space left"):
        os.write(full, b"a line")
    os.close(full)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_lines_that_do_not_fit_are_left_out_and_others_are_whole(
    tmp_path: Path, disk: Disk, error: int
) -> None:
    disk.error = error
    with (tmp_path / "log").open("w", encoding="utf-8") as file:
        out = line_output(file)
        for room, text in ((9, "one"), (3, "two two"), (0, "three"), (99, "four"), (99, "fünf")):
            disk.room = room
            print(text, file=out, flush=True)
    assert (tmp_path / "log").read_text("utf-8") == "one\ntwo\nfour\nfünf\n"


def test_another_error_is_raised(tmp_path: Path, disk: Disk) -> None:
    disk.room, disk.error = 0, errno.EPIPE
    with (tmp_path / "log").open("w", encoding="utf-8") as file:
        out = line_output(file)
        with pytest.raises(BrokenPipeError):
            print("a line", file=out, flush=True)


def test_what_is_no_file_of_the_system_stays() -> None:
    text = io.StringIO()
    assert line_output(text) is text


def test_characters_that_the_encoding_lacks_are_escaped() -> None:
    reader, writer = os.pipe()
    out = LineOutput(writer, "ascii")
    out.write("fünf \udc80")
    out.write("\n")
    out.flush()
    out.flush()
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"f\\xfcnf \\udc80\n"
