"""Characters are what the server reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.decoding.character_sweep import UNICODE, misread
from tests.length import length

if TYPE_CHECKING:
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server


def fill(log: SourceLog, rows: list[str]) -> None:
    for start in range(0, len(rows), 20_000):
        log.execute(f"INSERT INTO t VALUES {', '.join(rows[start : start + 20_000])}")


def test_a_set_of_unicode_reads_every_character_as_the_server_does(source_log: SourceLog) -> None:
    # Every character of the Basic Multilingual Plane that the set has, and some above.
    source_log.execute("CREATE TABLE t (n INT PRIMARY KEY, c VARCHAR(4) CHARACTER SET utf8mb4)")
    points = [n for n in range(1, 0xFFFD) if not 0xD800 <= n < 0xE000]
    points += list(range(0x10000, 0x10FFFF, 997))
    points = points[:: length(short=3, full=1)]
    fill(source_log, [f"({n}, x'{chr(n).encode().hex()}')" for n in points])
    for charset in UNICODE:
        rows = source_log.execute(
            f"SELECT n, HEX(CONVERT(c USING {charset})), "
            f"HEX(CONVERT(CONVERT(c USING {charset}) USING utf8mb4)) FROM t"
        )
        texts = {
            bytes.fromhex(str(stored)): bytes.fromhex(str(back))
            for n, stored, back in rows
            if bytes.fromhex(str(back)).decode() == chr(int(str(n)))
        }
        assert len(texts) > 5000, charset
        assert misread(charset, texts) == {}, charset
