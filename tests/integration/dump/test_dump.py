"""`dump` over files: what is selected, how it is written, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from connector.binlog import argument_errors, log_errors
from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.replication import server_errors
from tests.foundation.errors.texts import shown, with_code
from tests.integration.dump.shop import SHOP
from tests.logs.dump.command import dump, dumped_json, start_dump

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode
    from tests.integration.dump.shop import Shop

pytestmark = pytest.mark.server

ROWS = {
    "WRITE_ROWS_EVENT", "UPDATE_ROWS_EVENT", "DELETE_ROWS_EVENT",
    "WRITE_ROWS_EVENT_V1", "UPDATE_ROWS_EVENT_V1", "DELETE_ROWS_EVENT_V1",
}  # fmt: skip
OF_THE_LOG = {
    "FORMAT_DESCRIPTION_EVENT", "PREVIOUS_GTIDS_LOG_EVENT", "GTID_LIST_EVENT",
    "BINLOG_CHECKPOINT_EVENT", "ROTATE_EVENT",
}  # fmt: skip
LIKE = "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7"
GTIDS = {"GTID_LOG_EVENT", "GTID_EVENT"}


def tables_of(events: list[dict[str, object]]) -> list[str]:
    bodies = [event["body"] for event in events if event["type"] in ROWS]
    return [body["table"] for body in bodies if isinstance(body, dict)]


def test_files_are_read_in_the_order_given(shop: Shop) -> None:
    both = dumped_json(*shop.logs).objects
    assert [event["file"] for event in both] == sorted(event["file"] for event in both)
    assert tables_of(both) == ["orders", "people", "people", "orders", "orders"]
    assert both == dumped_json(shop.first).objects + dumped_json(shop.second).objects


@pytest.mark.parametrize("output_format", ["events", "text", "json"])
def test_packed_files_and_standard_input_read_as_the_plain_file_does(
    shop: Shop, tmp_path: Path, output_format: str
) -> None:
    data = shop.first.read_bytes()
    plain = dump("--format", output_format, shop.first)
    assert plain.code == 0
    for packed, suffix in ((gzip.compress(data), ".gz"), (zstandard.compress(data), ".zst")):
        path = tmp_path / f"{shop.first.name}{suffix}"
        path.write_bytes(packed)
        assert dump("--format", output_format, path) == plain
        from_input = dump("--format", output_format, "-", stdin=packed)
        assert from_input.output.replace("stdin", shop.first.name) == plain.output


def test_output_goes_to_a_file(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    assert dump("--format", "json", "--output", path, shop.first).output == ""
    assert path.read_text() == dumped_json(shop.first).output


def test_text_with_a_hexdump_has_the_bytes_of_each_event(shop: Shop) -> None:
    plain, with_bytes = dump(shop.first), dump("--hexdump", shop.first)
    assert with_bytes.code == 0
    size = len(shop.first.read_bytes()) - 4
    assert len(with_bytes.lines) > len(plain.lines) + size // 16


# Selection


def test_positions_apply_to_the_first_and_the_last_log(shop: Shop) -> None:
    first, second = (dumped_json(path).objects for path in shop.logs)
    start = next(event["log_pos"] for event in first if event["type"] in ROWS) - 1
    start = next(event["log_pos"] for event in reversed(first) if event["log_pos"] <= start)
    stop = second[-3]["log_pos"]
    some = dumped_json("--start-position", start, "--stop-position", stop, *shop.logs).objects
    # The format description is needed to read what follows.
    assert some[0] == first[0]
    assert some[1]["log_pos"] == start
    assert some[1:] == [e for e in first if e["log_pos"] >= start] + second[:-3]


@pytest.mark.parametrize("recover", [(), ("--recover",)])
def test_what_is_after_the_stop_position_is_not_read(
    shop: Shop, tmp_path: Path, recover: tuple[str, ...]
) -> None:
    events = dumped_json(shop.first).objects
    stop = events[5]["log_pos"]
    data = bytearray(shop.first.read_bytes())
    data[stop + 20] ^= 0xFF
    path = tmp_path / shop.first.name
    path.write_bytes(data)
    assert dump(path).code == 3
    wish = ("--stop-position", stop, *recover)
    assert dumped_json(*wish, path).objects == events[:5]


def test_times_begin_and_end_a_dump(shop: Shop) -> None:
    events = dumped_json(*shop.logs).objects
    written = [event for event in events if event["timestamp"]]
    first, last = written[0]["timestamp"], written[-1]["timestamp"]
    everything = dumped_json("--start-datetime", _iso(first), *shop.logs).objects
    assert everything == events
    assert dumped_json("--stop-datetime", _iso(last + 1), *shop.logs).objects == events
    nothing = dumped_json("--start-datetime", _iso(last + 1), *shop.logs)
    assert set(nothing.types) == {"FORMAT_DESCRIPTION_EVENT"}
    before = dumped_json("--stop-datetime", "2001-01-01T00:00:00+01:00", *shop.logs)
    assert before.types == ["FORMAT_DESCRIPTION_EVENT"]


def _iso(timestamp: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(timestamp))


def test_a_transaction_of_a_gtid_set_is_shown_whole(shop: Shop) -> None:
    events = dumped_json(shop.second).objects
    gtid = shop.gtids[-2]
    starts = [n for n, event in enumerate(events) if event["type"] in GTIDS]
    expected = [
        event
        for n, event in enumerate(events)
        if event["type"] in OF_THE_LOG or starts[0] <= n < starts[1]
    ]
    exclude = [] if not shop.is_mariadb else ["--exclude-gtids", shop.gtids[-3]]
    assert dumped_json("--include-gtids", gtid, *exclude, shop.second).objects == expected


def test_a_transaction_outside_of_excluded_gtids_is_shown_whole(shop: Shop) -> None:
    events = dumped_json(shop.second).objects
    starts = [n for n, event in enumerate(events) if event["type"] in GTIDS]
    expected = [
        event for n, event in enumerate(events) if event["type"] in OF_THE_LOG or n >= starts[1]
    ]
    assert dumped_json("--exclude-gtids", shop.gtids[-2], shop.second).objects == expected


def test_gtids_of_the_other_product_are_refused(shop: Shop) -> None:
    other = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-99" if shop.is_mariadb else "0-1-99"
    for option in ("--include-gtids", "--exclude-gtids"):
        done = dump("--format", "json", option, other, *shop.logs)
        assert done.code == 1
        assert f"{option} {other} cannot be compared with" in done.errors
        assert set(done.types) <= OF_THE_LOG


@pytest.mark.parametrize(
    "wish",
    [
        ("--table", f"{SHOP}.orders"),
        ("--table", f"{SHOP[:-1]}?.ord*"),
        ("--table", "*.orders", "--table", "other.people"),
    ],
)
def test_a_table_is_shown_with_what_its_changes_need(shop: Shop, wish: tuple[str, ...]) -> None:
    events = dumped_json(*wish, *shop.logs).objects
    assert set(tables_of(events)) == {"orders"}
    maps = [event["body"]["table"] for event in events if event["type"] == "TABLE_MAP_EVENT"]
    assert maps == ["orders"] * 3
    # Of the five transactions with rows or DDL of orders, each has its GTID.
    assert sum(event["type"] in GTIDS for event in events) == 4
    assert not any("people" in str(e["body"].get("query", "")) for e in events)
    texts = [e["body"]["query"] for e in events if e["type"] == "ANNOTATE_ROWS_EVENT"]
    assert len(texts) == (3 if shop.is_mariadb else 0)


def test_a_database_is_shown_without_the_others(shop: Shop) -> None:
    everything = dumped_json(*shop.logs).objects
    assert dumped_json("--database", SHOP, *shop.logs).objects == everything
    assert set(dumped_json("--database", "other", *shop.logs).types) <= OF_THE_LOG


def test_types_are_chosen_by_patterns(shop: Shop) -> None:
    events = dumped_json(*shop.logs).objects
    chosen = dumped_json("--type", "write_rows*", "--type", "xid", *shop.logs)
    assert chosen.objects == [
        e for e in events if e["type"].startswith("WRITE_ROWS") or e["type"] == "XID_EVENT"
    ]
    assert "XID_EVENT" in chosen.types


def test_server_ids_leave_the_description_of_the_log(shop: Shop) -> None:
    events = dumped_json(shop.first).objects
    assert dumped_json("--server-id", 1, shop.first).objects == events
    other = dumped_json("--server-id", 7, "--server-id", 8, shop.first)
    assert set(other.types) == {"FORMAT_DESCRIPTION_EVENT", "ROTATE_EVENT"}


def test_filters_are_a_conjunction(shop: Shop) -> None:
    chosen = dumped_json("--table", f"{SHOP}.people", "--type", "TABLE_MAP", *shop.logs)
    assert [event["body"]["table"] for event in chosen.objects] == ["people", "people"]


def test_a_format_that_types_leave_out_is_known_all_the_same(shop: Shop) -> None:
    chosen = dump("--format", "events", "--type", "WRITE_ROWS*", shop.first)
    name = "Write_rows_v1" if shop.is_mariadb else "Write_rows"
    assert [line.split("\t")[2] for line in chosen.lines[1:]] == [name, name]


# Records


def test_the_envelope_has_the_records_of_complete_transactions(shop: Shop, tmp_path: Path) -> None:
    records = dump("--format", "envelope", "--topic-prefix", "p", *shop.logs)
    assert (records.code, records.errors) == (0, "")
    # Schemas and DDL have topics of their own.
    rows = [record for record in records.objects if record["topic"] not in ("p.schema", "p")]
    assert [(r["topic"], r["key"], r["headers"]["cdc.op"]) for r in rows] == [
        (f"p.{SHOP}.orders", {"id": 1}, "c"),
        (f"p.{SHOP}.orders", {"id": 2}, "c"),
        (f"p.{SHOP}.people", {"id": 1}, "c"),
        (f"p.{SHOP}.people", {"id": 2}, "c"),
        (f"p.{SHOP}.orders", {"id": 1}, "u"),
        (f"p.{SHOP}.orders", {"id": 2}, "d"),
        (f"p.{SHOP}.orders", {"id": 2}, "d"),
    ]
    assert rows[-1]["value"] is None
    assert rows[4]["value"]["before"] == {"id": 1, "item": "pen"}
    assert [r["headers"]["cdc.seq"] for r in rows] == sorted(r["headers"]["cdc.seq"] for r in rows)
    schema = next(record for record in records.objects if record["topic"] == "p.schema")
    assert (schema["topic"], schema["key"].split("/")[0]) == ("p.schema", f"{SHOP}.orders")
    # Cut before the last commit, the last transaction has none.
    cut = tmp_path / shop.second.name
    events = dumped_json(shop.second).objects
    commit = next(e for e in reversed(events) if e["type"] == "XID_EVENT")
    cut.write_bytes(shop.second.read_bytes()[: commit["log_pos"]])
    (change, *_) = (r for r in dump("--format", "envelope", cut).objects if "value" in r)
    assert change["topic"] == "cdc.schema"
    complete = dump("--format", "envelope", cut).objects
    assert [r["headers"].get("cdc.op") for r in complete] == [None, "c", None, "u"]


def test_records_of_one_table_keep_their_sequence(shop: Shop) -> None:
    def by_sequence(*wish: str) -> dict[str, object]:
        done = dump("--format", "envelope", *wish, *shop.logs)
        return {
            record["headers"]["cdc.seq"]: record["key"]
            for record in done.objects
            if record["topic"] == f"cdc.{SHOP}.orders"
        }

    assert by_sequence("--table", f"{SHOP}.orders") == by_sequence()


def test_files_whose_names_have_no_number_are_counted(tmp_path: Path, shop: Shop) -> None:
    path = tmp_path / "saved"
    path.write_bytes(shop.first.read_bytes())
    done = dump("--format", "envelope", path, "-", path, stdin=shop.second.read_bytes())
    assert (done.code, done.errors) == (0, "")
    values = [record["value"] for record in done.objects if record["topic"] != "cdc.schema"]
    files = [value["source"]["file"] for value in values if value is not None]
    assert list(dict.fromkeys(files)) == ["saved.000001", "stdin.000002", "saved.000003"]
    sequences = [record["headers"].get("cdc.seq") for record in done.objects]
    rising = [sequence for sequence in sequences if sequence is not None]
    assert rising == sorted(rising)


def test_what_the_stream_would_refuse_is_refused(shared_binlogs: Path) -> None:
    done = dump("--format", "envelope", shared_binlogs / "seed/mysql-bin.000005")
    said = "error: [T302] mysql-bin.000005:395: the log has no column names for table test.user; "
    assert (done.code, done.errors[: len(said)]) == (3, said)


# Ends


def test_a_file_that_ends_inside_an_event_says_where_the_last_complete_one_does(
    shop: Shop, tmp_path: Path
) -> None:
    events = dumped_json(shop.first).objects
    last = events[-1]["log_pos"]
    path = tmp_path / "binlog.000001"
    path.write_bytes(shop.first.read_bytes()[: last + 20])
    done = dump("--format", "json", path)
    assert done.code == 2
    assert done.errors == (
        "error: "
        + shown(
            log_errors.FILE_ENDS,
            file="binlog.000001",
            position=last,
            needed=events[-1]["size"],
            found=20,
        )
        + "\n"
    )
    assert [event["log_pos"] for event in done.objects] == [e["log_pos"] for e in events[:-1]]


def flip(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes((data[offset] ^ 0x10,)) + data[offset + 1 :]


def test_a_corrupt_event_ends_a_dump_after_everything_before_it(shop: Shop, tmp_path: Path) -> None:
    events = dumped_json(shop.first).objects
    (position,) = (
        e["log_pos"] for e in events if e["type"] in ROWS and e["body"]["table"] == "people"
    )
    path = tmp_path / "binlog.000001"
    path.write_bytes(flip(shop.first.read_bytes(), position + 30))
    done = dump("--format", "json", path)
    assert done.code == 3
    said = with_code(log_errors.CHECKSUM_DIFFERS, f"binlog.000001:{position}: cannot decode ")
    assert done.errors.startswith(f"error: {said}")
    assert done.errors.endswith(
        f"; compare with `mysqlbinlog --start-position={position} binlog.000001`\n"
    )
    assert done.objects[-1]["next_pos"] in (position, 0)
    unverified = dump("--format", "json", "--no-verify-checksum", path)
    assert (unverified.code, len(unverified.objects)) == (0, len(events))


def test_files_after_one_that_fails_are_not_read(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(b"\xfebin")
    done = dump("--format", "json", path, shop.second)
    assert (done.code, done.output) == (2, "")


@pytest.mark.parametrize(
    ("data", "code"), [(b"", log_errors.EMPTY), (b"\xfdbin" + bytes(512), log_errors.ENCRYPTED)]
)
def test_what_is_no_readable_log_is_refused_by_name(
    tmp_path: Path, data: bytes, code: ErrorCode
) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    done = dump(path)
    assert (done.code, done.errors) == (4, f"error: {shown(code, file='binlog.000001')}\n")


@pytest.mark.parametrize("recover", [(), ("--recover",)])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, recover: tuple[str, ...]) -> None:
    done = dump(*recover, tmp_path / "absent")
    said = shown(
        argument_errors.UNREADABLE, path=tmp_path / "absent", why="No such file or directory"
    )
    assert (done.code, done.errors) == (1, f"error: {said}\n")


def test_a_folder_is_answered_by_what_to_name(tmp_path: Path) -> None:
    done = dump(tmp_path)
    said = shown(argument_errors.FOLDER, path=tmp_path, why="Is a directory")
    assert (done.code, done.errors) == (1, f"error: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], shown(command_errors.NO_LOG)),
        (["--hexdump", "--format", "json", "x"], shown(command_errors.HEXDUMP)),
        (["--apply-diffs", "x"], shown(command_errors.APPLY_DIFFS)),
        (["--format", "envelope", "--type", "XID", "x"], shown(command_errors.NOT_FOR_ENVELOPE)),
        (["--recover", "--stop-never", "x"], shown(command_errors.NOT_RECOVERED)),
        (["--recover", "--source", "mysql://h"], shown(command_errors.NOT_RECOVERED)),
        (["--to-last-log", "x"], shown(command_errors.ONLY_WITH_SOURCE)),
        (["--password-env", "P", "x"], shown(command_errors.ONLY_WITH_SOURCE)),
        (["--source", "mysql://h", "--to-last-log"], shown(command_errors.NEEDS_A_LOG)),
        (
            ["--source", "mysql://h", "--password-env", "ABSENT_PASSWORD"],
            shown(command_errors.NO_VARIABLE, variable="ABSENT_PASSWORD"),
        ),
        (["--type", "NONSENSE", "x"],
         shown(argument_errors.NO_EVENT_TYPE, pattern="NONSENSE")),
        (["--type", "WRTE_ROWS", "x"],
         shown(argument_errors.OTHER_EVENT_TYPE, pattern="WRTE_ROWS", meant="WRITE_ROWS")),
        (["--table", "orders", "x"],
         shown(command_errors.TABLE_MEANT, pattern="orders", meant="orders.*")),
        (["--table", "orders.", "x"], shown(command_errors.TABLE, pattern="orders.")),
        (["--include-gtids", "5", "x"],
         shown(command_errors.NO_GTIDS, option="--include-gtids", text="5")),
        (["--exclude-gtids", "a:1", "x"],
         ("[C359] --exclude-gtids: cannot read GTID set member 'a:1': 'a' is not a server UUID; "
         f"{LIKE}")),
        (["--format", "json", "--source", "http://h"],
         shown(server_errors.FORM)),
        (["--output", "/absent/file", "x"],
         shown(command_errors.OUTPUT, path="/absent/file", why="No such file or directory")),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(arguments: list[str], said: str) -> None:
    done = dump(*arguments)
    assert (done.code, done.output, done.errors) == (1, "", f"error: {said}\n")


@pytest.mark.parametrize(
    "arguments",
    [["--format", "xml", "x"], ["--start-datetime", "soon", "x"], ["--nonsense", "x"]],
)
def test_what_the_command_line_cannot_read_ends_with_1_too(arguments: list[str]) -> None:
    assert dump(*arguments).code == 1


def test_a_time_that_is_none_is_answered_by_its_form() -> None:
    said = " ".join(dump("--start-datetime", "soon", "x").errors.replace("│", " ").split())
    assert str(Message(command_errors.TIME, {"text": "soon"})) in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's alone")
def test_a_full_disk_is_named(shop: Shop) -> None:
    done = dump("--output", "/dev/full", shop.first)
    said = shown(command_errors.NOT_WRITTEN, why="No space left on device")
    assert (done.code, done.errors) == (1, f"error: {said}\n")


def test_a_log_is_not_written_over(shop: Shop, tmp_path: Path) -> None:
    data = shop.first.read_bytes()
    log = tmp_path / "binlog.000001"
    log.write_bytes(data)
    link = tmp_path / "link"
    link.symlink_to(log)
    done = dump("--output", link, shop.second, log)
    said = shown(command_errors.OUTPUT_IS_A_LOG, path=link)
    assert (done.code, done.errors) == (1, f"error: {said}\n")
    assert log.read_bytes() == data


def test_a_pipe_that_nobody_reads_ends_the_dump_quietly(shop: Shop) -> None:
    process = start_dump(*[shop.first] * 300)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(30), process.stderr.read()) == (141, b"")
    process.stderr.close()


def test_a_file_is_followed_until_ctrl_c(shop: Shop, tmp_path: Path) -> None:
    data = shop.first.read_bytes()
    events = dumped_json(shop.first).objects
    path = tmp_path / shop.first.name
    middle = events[len(events) // 2]["log_pos"]
    path.write_bytes(data[:middle])
    process = start_dump("--format", "json", "--stop-never", path)
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [process.stdout.readline() for _ in range(len(events) // 2)]
    with path.open("ab") as file:
        file.write(data[middle:])
    lines += [process.stdout.readline() for _ in range(len(events) - len(lines))]
    assert [json.loads(line) for line in lines] == events
    os.kill(process.pid, signal.SIGINT)
    rest, said = process.communicate(timeout=30)
    assert (process.returncode, rest, said) == (130, b"", b"")
