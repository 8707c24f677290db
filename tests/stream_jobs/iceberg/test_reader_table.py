"""The table of readers in docs/tables.md is what these readers do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.stream_jobs.iceberg.independent_readers import library_readers, refusing_readers
from tests.stream_jobs.iceberg.reader_table import line, made, require, title_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_says_what_readers_do(tmp_path: Path) -> None:
    cases = made(tmp_path)
    readers = [*library_readers(), *refusing_readers()]
    require(*title_lines(), *(line(reader, cases) for reader in readers))
