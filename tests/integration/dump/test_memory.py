"""How much memory one large row takes: at most three times its bytes in the log."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from connector.binlog.sql_text import quoted_text
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from local_stack import connect
from tests.binlog.source_log import SourceLog

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MysqlServer

ROW_BYTES = 32_000_000
TIMES_MAX = 3

# Prints by how many bytes the peak has grown after each way to read the file. The system's figure
# for the process would begin with that of the parent.
MEASURE = """
import gc, io, json, re, sys
from pathlib import Path

from connector.logs.dump import Format
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from connector.logs.dump.dump import Dump, DumpOptions
from connector.reader import open_binlog


class Nowhere(io.RawIOBase):
    def write(self, data):
        return len(data)


def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search("VmHWM:[ \\t]+([0-9]+) kB", status)[1]) * 1024


def read_changes():
    with open_binlog(path) as log:
        for change in log.row_changes():
            pass


def dump(written_as):
    def run():
        options = DumpOptions(format=written_as)
        Dump(options, LineOutput(Nowhere()), print).run(file_inputs([path], ReadingOptions()))
    return run


ways = {
    "changes": read_changes,
    "json": dump(Format.JSON),
    "text": dump(Format.TEXT),
}
path = sys.argv[1]
before = peak()
grown = {}
for name, read in ways.items():
    read()
    gc.collect()
    grown[name] = peak() - before
print(json.dumps(grown))
"""


@pytest.mark.server
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("LONGBLOB", f"REPEAT(X'00ff41e9807f5c220a', {ROW_BYTES // 9})"),
        ("LONGTEXT", f"""REPEAT('words, "quoted"\\n', {ROW_BYTES // 16})"""),
        ("LONGTEXT", f"REPEAT('\u6f22\u5b57', {ROW_BYTES // 6})"),
    ],
)
def test_one_large_row_takes_no_more_than_three_times_its_bytes(
    mysql_server: MysqlServer, database: str, kind: str, value: str
) -> None:
    file = logged_row(mysql_server, database, kind, value)
    row_bytes = file.stat().st_size
    assert row_bytes > 0.9 * ROW_BYTES
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    times = {name: grown / row_bytes for name, grown in json.loads(run.stdout).items()}
    assert max(times.values()) <= TIMES_MAX, times


@pytest.mark.server
def test_a_row_that_is_written_in_pieces_is_whole(mysql_server: MysqlServer, database: str) -> None:
    piece = "é漢😀'\"\\\n"
    value = piece * 60_000
    repeated = f"REPEAT(_utf8mb4 X'{piece.encode().hex()}', 60000)"
    file = logged_row(mysql_server, database, "LONGTEXT", repeated)
    (line,) = [line for line in dumped(file, Format.JSON) if '"rows":[{"op"' in line]
    assert json.loads(line)["body"]["rows"] == [{"op": "insert", "after": [value]}]
    (line,) = [line for line in dumped(file, Format.TEXT) if line.startswith("###   @1=")]
    assert line == (
        f"###   @1={quoted_text(value)} /* `v` LONGBLOB/LONGTEXT meta=4 nullable=1 is_null=0 */"
    )


def dumped(file: Path, written_as: Format) -> list[str]:
    output = BytesIO()
    Dump(DumpOptions(format=written_as), LineOutput(output), print).run(
        file_inputs([str(file)], ReadingOptions())
    )
    return output.getvalue().decode().split("\n")


def logged_row(server: MysqlServer, database: str, kind: str, value: str) -> Path:
    """Return a file of the server's log that holds the one row."""
    with connect(server.endpoint, database) as connection:
        log = SourceLog(connection)
        # InnoDB's log is too small for the row.
        log.execute(f"CREATE TABLE t (v {kind}) ENGINE = MyISAM")
        log.execute("FLUSH BINARY LOGS")
        file = SourceLog(connection).file
        log.execute(f"INSERT INTO t VALUES ({value})")
        log.execute("FLUSH BINARY LOGS")
    return file
