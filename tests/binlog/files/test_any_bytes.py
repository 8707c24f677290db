from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.foundation.errors import ConnectorError
from connector.reader import open_binlog
from tests.binlog.files.log_files import three_transactions
from tests.length import length

GOLDEN = Path(__file__).parents[2] / "golden" / "files"
SEEDS = [
    three_transactions().data,
    (GOLDEN / "mysql-8.0.31" / "compression.000001").read_bytes(),
    (GOLDEN / "mariadb-11.8.6" / "types.000001").read_bytes(),
]

CHANGES = st.lists(st.tuples(st.integers(min_value=0), st.integers(0, 255)), max_size=8)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A log with changed bytes, cut somewhere or not, and perhaps packed before or after that."""
    data = draw(st.sampled_from(SEEDS))
    packed = draw(st.sampled_from(["", "gzip", "zstd"]))
    if packed:
        data = gzip.compress(data, mtime=0) if packed == "gzip" else zstandard.compress(data)
    changed = bytearray(data)
    for offset, value in draw(CHANGES):
        changed[offset % len(changed)] = value
    return bytes(changed[: draw(st.integers(0, len(changed) * 2))])


@settings(max_examples=length(short=50, full=300))
@pytest.mark.parametrize("ask", ["events", "row_changes", "to_arrow"])
@given(data=damaged(), start=st.one_of(st.just(4), st.integers(-1, 2000)))
def test_any_bytes_give_events_or_one_of_our_errors(ask: str, data: bytes, start: int) -> None:
    with (
        suppress(ConnectorError),
        open_binlog(data, start_position=start, verify_checksum=False) as log,
    ):
        for _ in log if ask == "events" else getattr(log, ask)():
            pass
