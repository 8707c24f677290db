"""Lines become bytes of a file or a pipe, written in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.dump.lines.writer import Line

NEWLINE: Final = 10

NOTHING_HELD: Final = -1

_BLOCK_BYTES: Final = 256 * 1024


@final
class LineOutput:
    """Writes lines in UTF-8; a lone surrogate becomes its byte, as in `surrogateescape`.

    A format that writes bytes appends them to `block`, in pieces that need not be whole lines, and
    calls `give_way` after each. `block` may be another object then. What it may have to take back,
    it holds: `held` is where that starts in `block`.
    """

    def __init__(self, file: BinaryIO, *, at_once: bool = False) -> None:
        """Write to `file`; with `at_once`, each write is flushed at once."""
        self.block = BytesWriter()
        self.held: i64 = NOTHING_HELD
        self._file = file
        self._at_once = at_once

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines without newline, whole or in pieces."""
        for line in lines:
            if isinstance(line, str):
                self.block.write(encoded(line))
            else:
                for piece in line:
                    self.block.write(encoded(piece))
                    self._make_room()
            self.block.append(u8(NEWLINE))
            self._make_room()
        if self._at_once:
            self.flush()

    def give_way(self) -> None:
        """Write the block if it is large, or if everything is written at once."""
        if self._at_once:
            self.flush()
        else:
            self._make_room()

    def flush(self) -> None:
        """Write the block, and what the file keeps."""
        self._write_block()
        self._file.flush()

    def take_held(self) -> bytes:
        """Return what is held, which then is no part of the block."""
        start = self.held
        if start == NOTHING_HELD:
            return b""
        self.held = NOTHING_HELD
        written = self.block.getvalue()
        if len(written) > 2 * _BLOCK_BYTES:
            # Frees the memory of many lines.
            self.block = BytesWriter()
            self.block.write(written[:start])
        else:
            self.block.truncate(start)
        return written[start:]

    def _make_room(self) -> None:
        if len(self.block) >= _BLOCK_BYTES:
            self._write_block()

    def _write_block(self) -> None:
        block = self.block
        if self.held == 0 or not len(block):
            return
        if self.held > 0:
            held = self.take_held()
            self._write_block()
            self.block.write(held)
            self.held = 0
            return
        written = block.getvalue()
        # Before it is written: Ctrl-C may come in between, and the end would write it again.
        if len(block) > 2 * _BLOCK_BYTES:
            # Frees the memory of a large line.
            self.block = BytesWriter()
        else:
            block.truncate(0)
        self._file.write(written)


def encoded(text: str) -> bytes:
    """Return the bytes of `text` in the output."""
    return text.encode("utf-8", "surrogateescape")
