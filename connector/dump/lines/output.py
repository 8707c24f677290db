"""Lines become bytes of a file or a pipe, written in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.dump.lines.writer import Line

_BLOCK_CHARACTERS = 64 * 1024


class LineOutput:
    """Writes lines in UTF-8; a lone surrogate becomes its byte, as in `surrogateescape`."""

    def __init__(self, file: BinaryIO, *, at_once: bool = False) -> None:
        """Write to `file`; with `at_once`, each write is flushed at once."""
        self._file = file
        self._at_once = at_once
        self._lines: list[str] = []
        self._characters = 0

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines without newline, whole or in pieces."""
        for line in lines:
            if not isinstance(line, str):
                self._write_pieces(line)
                continue
            self._lines.append(line)
            self._characters += len(line)
            if self._characters >= _BLOCK_CHARACTERS:
                self._write_block()
        if self._at_once:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
        self._write_block()
        self._file.flush()

    def _write_pieces(self, line: Iterator[str]) -> None:
        self._write_block()
        for piece in line:
            self._file.write(_encoded(piece))
        self._file.write(b"\n")

    def _write_block(self) -> None:
        if self._lines:
            self._lines.append("")
            block = "\n".join(self._lines)
            self._lines.clear()
            self._characters = 0
            self._file.write(_encoded(block))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
