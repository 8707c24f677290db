"""`dump`, `stat` and `flashback` with `--source`: the same as from the server's files."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from connector.cli import command_errors
from local_stack import connect
from tests.application import invoke
from tests.foundation.errors.texts import shown
from tests.integration.dump.shop import SHOP
from tests.logs.dump.command import Dumped, dump, dumped_json, start_dump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.dump.shop import Shop

pytestmark = pytest.mark.server


def from_server(shop: Shop, *arguments: object) -> Dumped:
    done = dump("--format", "json", "--source", shop.url, *arguments)
    assert (done.code, done.errors) == (0, "")
    return done


def comparable(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the flag of an open file, which a server does not send."""
    for event in events:
        if event["type"] == "FORMAT_DESCRIPTION_EVENT":
            event["flags"] = 0
    return list(events)


def test_a_log_of_the_server_is_its_file(shop: Shop) -> None:
    for path in shop.logs:
        expected = dumped_json(path).objects
        assert comparable(from_server(shop, path.name).objects) == comparable(expected)


def test_the_format_that_a_server_makes_up_is_not_shown(shop: Shop) -> None:
    events = dumped_json(shop.second).objects
    (start,) = [e["log_pos"] for e in events if e["type"] == "FORMAT_DESCRIPTION_EVENT"]
    begin = [e for e in events if e["type"] in {"GTID_LOG_EVENT", "GTID_EVENT"}][1]["log_pos"]
    assert (start, begin > start) == (4, True)
    behind = [event for event in events if event["log_pos"] >= begin]
    chosen = from_server(shop, shop.second.name, "--start-position", begin).objects
    assert chosen == behind


def test_logs_that_are_named_are_shown_and_no_others(shop: Shop) -> None:
    expected = dumped_json(*shop.logs).objects
    names = [path.name for path in shop.logs]
    assert comparable(from_server(shop, *names).objects) == comparable(expected)


def test_the_last_log_ends_a_dump_that_goes_on_to_it(shop: Shop) -> None:
    expected = comparable(dumped_json(*shop.logs).objects)
    for wish in (["--to-last-log"], ["--to-last-log", "--non-block"]):
        events = comparable(from_server(shop, shop.first.name, *wish).objects)
        assert events[: len(expected)] == expected
        assert events[-1]["file"] > shop.second.name


def test_without_a_name_every_log_is_shown(shop: Shop) -> None:
    events = from_server(shop).objects
    assert events[0]["type"] == "FORMAT_DESCRIPTION_EVENT"
    with connect(shop.server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        names = [row[0] for row in cursor.fetchall()]
    assert list(dict.fromkeys(event["file"] for event in events)) == names


def test_positions_and_filters_are_those_of_files(shop: Shop) -> None:
    events = dumped_json(shop.second).objects
    start = next(e["log_pos"] for e in events if e["type"] in {"GTID_LOG_EVENT", "GTID_EVENT"})
    stop = events[-1]["log_pos"]
    wish = ("--start-position", start, "--stop-position", stop, "--table", f"{SHOP}.orders")
    expected = dumped_json(*wish, shop.second).objects[1:]
    found = from_server(shop, *wish, shop.second.name).objects
    assert [e for e in found if e["type"] != "FORMAT_DESCRIPTION_EVENT"] == expected
    assert len(expected) > 4


@pytest.mark.parametrize("output_format", ["events", "text"])
def test_other_formats_are_those_of_files(shop: Shop, output_format: str) -> None:
    wish = ("--format", output_format)
    done = dump(*wish, "--source", shop.url, shop.first.name)
    assert done == dump(*wish, shop.first)


def test_the_password_comes_from_the_environment(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = shop.server.endpoint
    url = f"mysql://{endpoint.user}@{endpoint.host}:{endpoint.port}"
    monkeypatch.setenv("DUMP_PASSWORD", endpoint.password)
    wish = ("--format", "events", "--source", url, shop.first.name)
    assert dump(*wish, "--password-env", "DUMP_PASSWORD").code == 0
    refused = dump(*wish)
    assert refused.code == 1
    assert "Access denied for user" in refused.errors


def test_what_is_in_a_log_of_the_server_is_counted_as_in_its_file(shop: Shop) -> None:
    counted = ["stat", "--format", "json"]
    of_files = invoke([*counted, *map(str, shop.logs)])
    names = [path.name for path in shop.logs]
    of_server = invoke([*counted, "--source", shop.url, *names])
    assert (of_server.exit_code, of_server.stderr) == (0, "")
    assert json.loads(of_server.stdout) == json.loads(of_files.stdout)


def test_changes_in_a_log_of_the_server_are_undone_as_those_of_its_file(shop: Shop) -> None:
    wish = ["flashback", "--table", f"{SHOP}.orders"]
    of_file = invoke([*wish, str(shop.second)])
    of_server = invoke([*wish, "--source", shop.url, shop.second.name])
    assert of_server.stdout.count("UPDATE") == of_server.stdout.count("INSERT") == 1
    assert (of_server.exit_code, of_server.stdout) == (0, of_file.stdout)


@pytest.mark.parametrize("command", ["dump", "stat", "flashback"])
def test_a_log_to_read_has_to_be_named(command: str) -> None:
    done = invoke([command])
    assert (done.exit_code, done.stdout, done.stderr) == (
        1,
        "",
        f"error: {shown(command_errors.NO_LOG)}\n",
    )


def test_a_log_that_the_server_lacks_is_refused(shop: Shop) -> None:
    done = dump("--format", "json", "--source", shop.url, "binlog.999999")
    assert (done.code, done.output) == (1, "")
    assert "binlog.999999" in done.errors
    assert "pipeline" not in done.errors


def test_a_server_that_does_not_answer_ends_with_1(shop: Shop) -> None:
    done = dump("--format", "json", "--source", "mysql://root:secret@127.0.0.1:1", shop.first.name)
    assert (done.code, done.output) == (1, "")
    assert done.errors == (
        "error: [S101] source 127.0.0.1:1: cannot connect: Connection refused; check that the "
        "server runs, the URL's host, the URL's port and firewalls\n"
    )
    assert "secret" not in done.errors


def test_a_server_is_followed_until_ctrl_c(shop: Shop) -> None:
    process = start_dump(
        "--format", "json", "--stop-never",
        "--source", shop.url, "--table", f"{SHOP}.people", shop.second.name,
    )  # fmt: skip
    assert process.stdout is not None

    def read_rows() -> list[object]:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if "ROWS" in event["type"] and "rows" in event["body"]:
                return [row.get("after") for row in event["body"]["rows"]]
        assert process.stderr is not None
        pytest.fail(process.stderr.read().decode())

    assert read_rows() == [[2]]
    with connect(shop.server.endpoint) as connection, connection.cursor() as cursor:
        for number in (90, 91):
            cursor.execute(f"INSERT INTO {SHOP}.people VALUES ({number})")
            assert read_rows() == [[number]]
            cursor.execute(f"DELETE FROM {SHOP}.people WHERE id = {number}")
            assert read_rows() == [None]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, b"")
