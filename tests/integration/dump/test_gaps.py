"""Damaged logs of real servers: all that is not damaged is shown, and the rest is reported."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

from connector.binlog import log_errors
from tests.foundation.errors.texts import with_code
from tests.logs.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.dump.shop import Shop

pytestmark = pytest.mark.server


NAME = "binlog.000001"


def changed(data: bytes, offset: int, put: bytes) -> bytes:
    return data[:offset] + put + data[offset + len(put) :]


@pytest.fixture
def rows_without_table_map(shop: Shop, tmp_path: Path) -> Callable[[bool], Path]:
    """Return a function that damages the first table map; `packed` compresses the file."""

    def make(packed: bool) -> Path:
        events = dumped_json(shop.first).objects
        position = next(e["log_pos"] for e in events if e["type"] == "TABLE_MAP_EVENT")
        data = changed(shop.first.read_bytes(), position + 9, b"\xff\xff\xff\x7f")
        path = tmp_path / f"{NAME}.gz"
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    return make


@pytest.mark.parametrize("packed", [True, False])
def test_rows_whose_table_map_is_lost_are_reported_and_not_guessed(
    shop: Shop, rows_without_table_map: Callable[[bool], Path], packed: bool
) -> None:
    events = dumped_json(shop.first).objects
    number = next(n for n, e in enumerate(events) if e["type"] == "TABLE_MAP_EVENT")
    table_map, rows, commit = (e["log_pos"] for e in events[number : number + 3])
    table_id = events[number]["body"]["table_id"]
    path = rows_without_table_map(packed)
    done = dump("--format", "json", "--recover", path)
    name = NAME if packed else path.name
    assert done.code == 3
    first = with_code(
        log_errors.GAP_TOO_SHORT,
        f"{name}: nothing could be read from {table_map} to {rows} ({rows - table_map} bytes): an "
        "event of 2147483647 bytes does not fit in there",
    )
    second = with_code(
        log_errors.NO_TABLE_MAP,
        f"{name}: nothing could be read from {rows} to {commit} ({commit - rows} bytes): "
        f"{events[number + 1]['type']}: no TABLE_MAP_EVENT of this statement describes table id "
        f"{table_id}",
    )
    assert done.errors == f"gap: {first}\ngap: {second}\n"
    expected = events[:number] + events[number + 2 :]
    assert [e["log_pos"] for e in done.objects] == [e["log_pos"] for e in expected]
    # Without --recover the first gap is the end.
    assert dump("--format", "json", path).code == 3


def test_standard_input_is_recovered_from_a_position(shop: Shop) -> None:
    events = dumped_json(shop.first).objects
    start, damaged, after = (e["log_pos"] for e in events[-4:-1])
    data = changed(shop.first.read_bytes(), damaged + 9, bytes(4))
    wish = ("--format", "json", "--recover", "--start-position", start)
    done = dump(*wish, "-", stdin=data)
    assert done.code == 3
    assert [e["log_pos"] for e in done.objects] == [4, start, after, events[-1]["log_pos"]]
    said = with_code(
        log_errors.SIZE_BELOW_HEADER, f"stdin: nothing could be read from {damaged} to {after} "
    )
    assert done.errors.startswith(f"gap: {said}")


def positions_in(message: str) -> list[str]:
    return re.findall(r"binlog\.\d+:\d+", message)


@pytest.mark.parametrize("flip", [False, True])
def test_what_damaged_compressed_bytes_unpack_to_is_shown(
    shop: Shop, tmp_path: Path, flip: bool
) -> None:
    packed = bytearray(gzip.compress(shop.first.read_bytes()))
    if flip:
        packed[-6] ^= 1
    path = tmp_path / "binlog.000001.gz"
    path.write_bytes(packed if flip else packed[: len(packed) - 100])
    with_recovery = dump("--recover", path)
    without = dump(path)
    assert (with_recovery.lines, with_recovery.code) == (without.lines, without.code)
    assert positions_in(with_recovery.errors) == positions_in(without.errors)
    assert len(with_recovery.lines) > 50
    assert with_recovery.code == (3 if flip else 2)


def test_a_log_without_damage_is_recovered_to_a_clean_end(shop: Shop) -> None:
    for output_format in ("events", "text", "json"):
        wish = ("--format", output_format, *shop.logs)
        assert dump("--recover", *wish) == dump(*wish)
