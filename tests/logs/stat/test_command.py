"""`binlog-connector stat`: what it prints and how it ends."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.binlog import log_errors
from connector.cli import command_errors
from tests.application import invoke
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from tests.application import Done


def stat(*arguments: str | Path, data: bytes | None = None) -> Done:
    return invoke(["stat", *map(str, arguments)], data or b"")


def test_files_are_counted_together(shared_binlogs: Path) -> None:
    files = [shared_binlogs / f"seed/mysql-bin.00000{number}" for number in (5, 6)]
    done = stat("--format", "json", *files)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert [file["events"] for file in document["files"]] == [7, 7]
    assert document["gtids"]["mysql"] == "a09129d9-0728-11e9-aa93-d227f810ba81:74"
    assert document["transactions"]["count"] == 2


def test_tables_are_what_people_see(shared_binlogs: Path) -> None:
    done = stat(shared_binlogs / "seed/mysql-bin.000005")
    assert done.exit_code == 0
    assert "│ WRITE_ROWS_EVENT         │     1 │    70 │" in done.stdout
    assert "mysql-bin.000005 │      194 │   302 │    1 │       0 │" in done.stdout


def test_files_of_one_name_are_told_apart_by_their_folders(
    shared_binlogs: Path, tmp_path: Path
) -> None:
    files = []
    for folder, number in (("a", 5), ("b", 6)):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "binlog.000001")
        files[-1].write_bytes((shared_binlogs / f"seed/mysql-bin.00000{number}").read_bytes())
    other = shared_binlogs / "seed/mysql-bin.000005"
    document = json.loads(stat("--format", "json", *files, other).stdout)
    counted = [(file["file"], file["events"]) for file in document["files"]]
    assert counted == [(str(files[0]), 7), (str(files[1]), 7), (other.name, 7)]
    largest = {each["file"] for each in document["transactions"]["largest"]}
    assert largest == {str(files[0]), str(files[1]), other.name}


def test_compressed_files_and_standard_input_are_read(shared_binlogs: Path, tmp_path: Path) -> None:
    data = (shared_binlogs / "seed/mysql-bin.000005").read_bytes()
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(data))
    documents = [
        json.loads(done.stdout)
        for done in (stat("--format", "json", packed), stat("--format", "json", "-", data=data))
    ]
    assert [document["events"] for document in documents] == [documents[0]["events"]] * 2
    assert documents[1]["files"] == [{"file": "stdin", "events": 7, "bytes": 492}]


def test_what_came_before_the_end_of_a_cut_file_is_counted(
    shared_binlogs: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes((shared_binlogs / "seed/mysql-bin.000005").read_bytes()[:400])
    done = stat("--format", "json", cut)
    assert done.exit_code == 2
    assert json.loads(done.stdout)["files"] == [{"file": "cut", "events": 5, "bytes": 391}]
    said = shown(log_errors.FILE_ENDS, file="cut", position=395, needed=19, found=5)
    assert done.stderr == f"error: {said}\n"


def test_a_wrong_checksum_ends_with_3_unless_it_is_not_looked_at(
    shared_binlogs: Path, tmp_path: Path
) -> None:
    data = bytearray((shared_binlogs / "seed/mysql-bin.000005").read_bytes())
    data[-1] ^= 1
    file = tmp_path / "flipped"
    file.write_bytes(data)
    assert stat(file).exit_code == 3
    assert stat("--no-verify-checksum", file).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 1), (["/nowhere"], 1), (["--format", "xml", "f"], 1)]
)
def test_wrong_arguments_end_with_1(arguments: list[str], code: int) -> None:
    assert stat(*arguments).exit_code == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's alone")
@pytest.mark.parametrize(
    "command", [["stat"], ["stat", "--format", "json"], ["flashback", "--table", "a.b"]]
)
def test_a_full_disk_is_named(shared_binlogs: Path, command: list[str]) -> None:
    file = shared_binlogs / "seed/mysql-bin.000005"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "connector", *command, str(file)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    said = shown(command_errors.NOT_WRITTEN, why="No space left on device")
    assert (done.returncode, done.stderr.decode()) == (1, f"error: {said}\n")


def test_another_file_ends_with_4(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("SELECT 1; -- this is no log")
    assert stat(file).exit_code == 4
