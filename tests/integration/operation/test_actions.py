"""What somebody may do by the status page of a running pipeline, with the token and without it."""

from __future__ import annotations

import http.client
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from connector.stream.status.model import State
from tests.integration.harness import wait_until
from tests.integration.operation.test_health import asked
from tests.integration.operation.test_metrics import figures, free_port
from tests.integration.operation.test_status import page_at, states, table_of, wait_for

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

TOKEN = "0123456789abcdef-\u00fc"
FORM = "application/x-www-form-urlencoded"
ACTIONS = ("snapshot", "replay", "pause", "resume")


def act(
    port: int, action: str, fields: dict[str, str] | None = None, bearer: str | None = None
) -> tuple[int, str, str | None]:
    """Return the status of a post, its text, and where it leads."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": FORM}
    if bearer is not None:
        headers["Authorization"] = f"Bearer {bearer}"
    try:
        connection.request("POST", f"/actions/{action}", urlencode(fields or {}), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers["Location"]
    finally:
        connection.close()


def test_nothing_is_changed_without_a_token(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        said = "nobody may act here: metrics.token is not configured\n"
        for action in ACTIONS:
            for fields in ({}, {"token": ""}, {"token": TOKEN}):
                assert act(port, action, fields) == (403, said, None)
        assert not any(tag == "form" for tag, _ in page_at(port).elements)
        stream.execute("INSERT INTO t VALUES (1)")
        stream.wait_for_changes(1, connector)
        assert "refused on the status page" in connector.output()
        assert connector.terminate() == 0


def test_nothing_is_changed_with_another_token(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    port = free_port()
    settings = {"metrics__listen": f"127.0.0.1:{port}", "metrics__token": TOKEN}
    with stream.connector(**settings) as connector:
        wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        for action in ACTIONS:
            for fields in ({}, {"token": TOKEN[:-1]}, {"token": TOKEN + "x"}):
                assert act(port, action, fields) == (401, "this is not the token\n", None)
            assert act(port, action, {"token": TOKEN}, bearer="wrong")[0] == 401
            assert asked(port, f"/actions/{action}", "POST") == (401, "this is not the token\n")
            assert asked(port, f"/actions/{action}")[0] == 405
        assert asked(port, "/actions/stop", "POST")[0] == 404
        stream.execute("INSERT INTO t VALUES (1)")
        stream.wait_for_changes(1, connector)
        page = page_at(port)
        assert any(tag == "form" for tag, _ in page.elements)
        assert TOKEN not in page.said + connector.output() + asked(port, "/status.json")[1]
        assert connector.terminate() == 0


def test_a_paused_stream_delivers_nothing_until_it_is_resumed(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    port = free_port()
    settings = {"metrics__listen": f"127.0.0.1:{port}", "metrics__token": TOKEN}
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(1, connector)
        assert "asked on the status page" not in page_at(port).said
        assert act(port, "pause", {"token": TOKEN, "table": "", "where": ""})[::2] == (303, "/")
        # A page is kept for those who ask at the same time, but not if it lacks what this one did.
        assert "asked on the status page" in page_at(port).said
        facts = wait_for(port, lambda facts: states(facts)[0] is State.PAUSED, connector)
        connector.wait_for("paused")
        stream.execute("INSERT INTO t VALUES (2)")
        # The lag is known meanwhile: a session of its own asks the source.
        wait_for(
            port, lambda facts: facts.lag is not None and bool(facts.lag.transactions), connector
        )
        assert len(stream.changes()) == 1
        code, said = asked(port, "/readyz")
        assert code == 503
        assert "the stream is paused, because somebody asked for it" in said
        assert asked(port, "/healthz")[0] == 200
        assert (figures(port)["paused"], figures(port)["connected"]) == (1, 0)
        interruptions = figures(port)["interruptions_total"]
        assert act(port, "resume", bearer=TOKEN) == (202, "the stream goes on\n", None)
        stream.wait_for_changes(2, connector)
        facts = wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        assert (figures(port)["paused"], figures(port)["connected"]) == (0, 1)
        assert figures(port)["interruptions_total"] == interruptions
        assert [event.what for event in facts.events[:5]] == [
            "streaming", "resumed", "asked on the status page", "paused",
            "asked on the status page",
        ]  # fmt: skip
        # A paused process can be stopped, and the next one streams.
        act(port, "pause", bearer=TOKEN)
        wait_for(port, lambda facts: states(facts)[0] is State.PAUSED, connector)
        time.sleep(1)
        assert connector.terminate() == 0
    stream.execute("INSERT INTO t VALUES (3)")
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0


def test_a_table_is_copied_and_a_wrong_one_is_refused(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)")
    port = free_port()
    settings = {"metrics__listen": f"127.0.0.1:{port}", "metrics__token": TOKEN}
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(3, connector)
        name = f"{stream.database}.t"
        wanted = {"token": TOKEN, "table": name, "where": "id > 1"}
        assert act(port, "snapshot", wanted)[::2] == (303, "/")
        stream.wait_for_changes(5, connector)
        code, said, _ = act(port, "snapshot", {"table": name}, bearer=TOKEN)
        assert (code, said.startswith(f"asked for a copy of {name}, request ")) == (202, True)
        # All rows are taken back first, by one record.
        stream.wait_for_changes(9, connector)
        for fields, reason in (
            ({"table": f"{stream.database}.nosuch"}, "nosuch"),
            ({"table": ""}, ""),
            ({"table": name, "where": "1=0) UNION ALL SELECT 1 -- "}, ""),
            ({"table": name, "where": "(SELECT 1) = 1"}, ""),
            ({"table": name, "rows": "1"}, "the fields of snapshot are table, token, where"),
        ):
            code, said, _ = act(port, "snapshot", fields, bearer=TOKEN)
            assert code == 400, said
            assert reason in said
            assert "Traceback" not in connector.output()
        code, said, _ = act(port, "replay", {"table": name}, bearer=TOKEN)
        assert code == 400
        assert name in said
        assert len(stream.changes()) == 9
        facts = wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        asked_for = [one for one in facts.events if one.what == "asked on the status page"]
        assert asked_for[-1].details["by"] == "127.0.0.1"
        assert table_of(facts, name).copy is None
        assert connector.terminate() == 0


def test_what_is_held_is_replayed(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "metrics__token": TOKEN,
        "quarantine__policy": "fence-table",
    }
    with stream.connector(**settings) as connector:
        wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        stream.execute(
            "INSERT INTO t VALUES (1, 1)",
            "SET SESSION binlog_row_image = MINIMAL",
            "UPDATE t SET v = 2 WHERE id = 1",
        )
        name = f"{stream.database}.t"
        wait_until(lambda: figures(port).get("fences") == 1, connector.output)
        # The fence can be seen here before it is committed.
        answers: list[tuple[int, str, str | None]] = []

        def is_asked() -> bool:
            answers.append(act(port, "replay", {"table": name}, bearer=TOKEN))
            return answers[-1][0] == 202

        wait_until(is_asked, lambda: f"{answers[-1]}\n{connector.output()}")
        assert answers[-1][1].startswith(f"asked for a replay of {name}, request ")
        connector.wait_for("replaying what is in quarantine")
        assert connector.terminate() == 0
