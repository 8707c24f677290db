"""Names and texts in a log do not steer the terminal of its reader, nor leave a comment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import EventType
from tests.binlog.files.log_files import COLUMNS, LogFile
from tests.binlog.log_bytes import table_map, tlv

if TYPE_CHECKING:
    from pathlib import Path

# It clears the screen, rings the bell, and would be a statement of its own.
HOSTILE = "t\x1b[2J\x07\r\n; DROP TABLE customers; #\x9b31m"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    name = HOSTILE.encode()
    body = table_map(COLUMNS, tlv(4, bytes([len(name)]) + name + b"\x04name") + tlv(3, b"\x2d"))
    found = LogFile()
    found.query("BEGIN")
    named = body.replace(b"\x01t\x00", bytes([len(name)]) + name + b"\0")
    found.add(EventType.TABLE_MAP_EVENT, named)
    found.insert((1, "x"))
    found.query("INSERT INTO s VALUES ('\x1b[2J')")
    path = tmp_path / "binlog.000001"
    path.write_bytes(found.data)
    return path


def dumped(*arguments: str) -> str:
    command = [sys.executable, "-m", "connector", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, timeout=60)
    return done.stdout.decode()


@pytest.mark.parametrize("options", [(), ("--hexdump",)])
def test_a_name_stays_in_its_comment(log: Path, options: tuple[str, ...]) -> None:
    lines = dumped("dump", *options, str(log)).split("\n")
    name = "`db`.`t\\x1b[2J\\x07\\r\\n; DROP TABLE customers; #\x9b31m`"
    rows = lines.index(f"### INSERT INTO {name}")
    assert lines[rows + 1] == "### SET"
    of_names = [line for line in lines if "customers" in line]
    assert len(of_names) >= 3
    assert all(line.startswith("#") for line in of_names)
    assert not any(map(re.compile("[\x00-\x08\x0a-\x1f\x7f]").search, of_names))
    # A statement is as the server executes it.
    assert any("\x1b[2J" in line for line in lines)


def test_a_row_of_events_is_a_line_without_control_characters(log: Path) -> None:
    lines = dumped("dump", "--format", "events", str(log)).split("\n")
    assert len(lines) == 7
    assert not any(_CONTROLS.search(line) for line in lines)
    assert any(r"t\x1b[2J\x07\r\n; DROP TABLE customers; #\x9b31m" in line for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [("dump",), ("dump", "--format", "events"), ("dump", "--format", "json"), ("stat",)],
    ids=" ".join,
)
def test_a_terminal_gets_no_control_characters(log: Path, arguments: tuple[str, ...]) -> None:
    # Without it, tables have colours.
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "connector", *arguments, str(log)]
    with subprocess.Popen(command, stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        assert process.wait(60) == 0
    os.close(ours)
    text = shown.decode()
    assert "customers" in text
    assert set(_CONTROLS.findall(text.replace("\r\n", "\n"))) == set()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # The process has ended.
        return b""
