"""`verify --forever`: what it finds, what it says of it, and what it survives."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pytest

from stream_jobs.apply.changes import Changes
from tests import forked_command
from tests.chaos.mirror.planted.dropped_updates import drop_times, dropping
from tests.foundation.errors.texts import shown
from tests.integration.harness import ConnectorProcess, wait_until
from tests.integration.operation.test_metrics import free_port
from tests.integration.verification.pair import pair_of
from verification import verify_errors
from verification.metrics import PREFIX

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = [pytest.mark.server, pytest.mark.kafka]


@dataclass
class Verification(ConnectorProcess):
    """`binlog-connector verify CONFIG --mirror FILE --forever` in a process of its own."""

    arguments: tuple[str, ...] = ()
    port: int = 0

    @classmethod
    def of(cls, pair: Pair, port: int, *arguments: str) -> Self:
        """Compare the tables of a pair."""
        mirror = str(pair.job_config)
        return cls(pair.connector.config, arguments=("--mirror", mirror, *arguments), port=port)

    @property
    def log(self) -> Path:
        """Where its standard error goes."""
        return self.config.with_suffix(".verify.log")

    def start(self) -> Self:
        """Start it."""
        arguments = ("verify", str(self.config), *self.arguments, "--forever")
        self.process = forked_command.start(*arguments, errors=self.log)
        return self

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of its log about an event."""
        lines = [json.loads(line) for line in self.output().splitlines()]
        return [line for line in lines if line["message"] == event]

    def wait_for_lines(self, event: str, count: int) -> list[dict[str, Any]]:
        """Wait until the log has so many lines about an event; return them."""
        wait_until(lambda: len(self.lines(event)) >= count, self.output)
        return self.lines(event)

    def asked(self, path: str) -> tuple[int, str]:
        """Return what it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def figures(self, table: str) -> dict[str, float]:
        """Return the figures of a table."""
        pattern = rf'{PREFIX}(\w+){{.*table="{table}"}} (.*)'
        return {
            name: float(value) for name, value in re.findall(pattern, self.asked("/metrics")[1])
        }


def settings(port: int, **changed: object) -> dict[str, Any]:
    own = {"verify__listen": f"127.0.0.1:{port}", "verify__pause_seconds": 0.1}
    return own | {"log__format": "json", "retry__max_seconds": 0.5} | changed


def test_a_row_that_differs_is_named_in_the_log_and_counted_until_it_is_repaired(
    stream: Stream,
) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))",
        "CREATE TABLE keyless (id INT)",
        "INSERT INTO t VALUES (1, 'secret'), (2, 'b'), (3, 'c')",
        "INSERT INTO keyless VALUES (1)",
    )
    port, table = free_port(), f"{stream.database}.t"
    with pair_of(stream, **settings(port, verify__full_every_hours=0)) as pair:
        pair.catch_up(4)
        with Verification.of(pair, port) as process:
            *_, second = process.wait_for_lines("round ended", 2)
            equal = process.figures("t")
            ready, well = process.asked("/readyz"), process.asked("/healthz")
            pair.damage("t", lambda rows: [row | {"v": "x"} for row in rows if row["id"] < 3])
            process.wait_for("row differs")
            wait_until(lambda: process.figures("t")["differences"] == 3, process.output)
            found = process.lines("row differs")[:3]
            assert process.terminate() == 0
            process.log.unlink()
        with pair.applying(), Verification.of(pair, port, "--repair") as process:
            wait_until(lambda: process.lines("equal"), process.output)
            first, *_ = process.lines("equal")
            assert process.terminate() == 0
            repaired = process.lines("row differs")
    assert {name: second[f"cdc.{name}"] for name in ("tables", "different", "not_compared")} == {
        "tables": 1,
        "different": 0,
        "not_compared": 1,
    }
    assert equal["verified_rows_total"] >= 6
    assert (equal["differences"], equal["verify_unfinished"]) == (0, 0)
    assert equal["verified_age_seconds"] < 60
    assert ready[0] == 200
    assert ready[1].splitlines()[0] == "ready"
    assert ready[1].splitlines()[-1] == "tables: 1, different: 0, not finished: 0"
    assert well[0] == 200
    named = sorted((line["cdc.key"]["id"], line["cdc.kind"], line["cdc.columns"]) for line in found)
    assert named == [(1, "different", ["v"]), (2, "different", ["v"]), (3, "missing", [])]
    assert all(line["log.level"] == "warning" and line["cdc.table"] == table for line in found)
    assert all("which is in no cut yet" in line["cdc.since"] for line in found)
    # Keys are in the log, and no other values.
    assert "secret" not in process.output()
    assert [line["cdc.repaired"] for line in repaired] == [True] * 3
    assert [first[f"cdc.{name}"] for name in ("table", "repaired", "differences")] == [table, 3, 0]


def test_a_round_compares_what_has_changed_and_a_restart_goes_on(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE large (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE quiet (id INT PRIMARY KEY)",
        "CREATE TABLE keyless (id INT)",
        "INSERT INTO large WITH RECURSIVE n AS (SELECT /*+ SET_VAR(cte_max_recursion_depth = 9999) "
        f"*/ 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {LARGE}) SELECT id, 0 FROM n",
        "INSERT INTO quiet VALUES (1)",
        "INSERT INTO keyless VALUES (1)",
    )
    port, path = free_port(), stream.directory / "forever.state"
    with pair_of(stream, [{"match": ["*.keyless"], "mode": "rows"}], **settings(port)) as pair:
        pair.catch_up(LARGE + 2)
        with Verification.of(pair, port, "--state", str(path)) as process:
            process.wait_for_lines("equal", 3)
            first = {name: through(process, name) for name in TABLES}
            stream.execute("UPDATE large SET v = 1 WHERE id = 7", "INSERT INTO keyless VALUES (1)")
            pair.catch_up(LARGE + 4)
            wait_until(lambda: changed(process, "large"), process.output)
            pair.damage("large", lambda rows: [with_value(row, row["id"] % 10) for row in rows])
            process.wait_for("row differs")
            differing = process.figures("large")["differences"]
            wait_until(lambda: through(process, "keyless") > first["keyless"], process.output)
            assert process.terminate() == 0
            stopped = json.loads(path.read_text())["tables"]
            process.log.unlink()
        with Verification.of(pair, port, "--state", str(path)) as process:
            process.wait_for_lines("round ended", 2)
            again = {name: through(process, name) for name in TABLES}
            read = {name: process.figures(name)["verified_rows_total"] for name in TABLES}
            pair.damage("large", lambda rows: [with_value(row, row["id"]) for row in rows])
            wait_until(lambda: through(process, "large") > again["large"], process.output)
            pair.damage("large", lambda rows: [row for row in rows if row["id"] != 9])
            wait_until(lambda: process.figures("large")["differences"] == 1, process.output)
    # Of the row 7, both sides have 1.
    assert differing == LARGE // 10 - 1
    # A table that differs stays equal through the moment before; others go on.
    assert first["large"] < again["large"] < again["quiet"]
    assert first["quiet"] < again["quiet"]
    assert again["keyless"] > first["keyless"]
    assert stopped.keys() == {f"{stream.database}.{name}" for name in TABLES}
    # After the restart, rows that differ are compared again, and no others.
    assert (read["quiet"], read["keyless"]) == (0, 0)
    assert read["large"] % differing == 0


# More rows than those of tables that are always compared as a whole.
LARGE = 2400
TABLES = ("large", "quiet", "keyless")


def with_value(row: Row, number: int) -> Row:
    """Return a row with the value that the row 7 has if it has this number."""
    return row | {"v": int(number == 7)}


def through(process: Verification, table: str) -> float:
    """Return through when a table is equal."""
    return process.figures(table)["equal_through_timestamp_seconds"]


def changed(process: Verification, table: str) -> list[int]:
    """Return how many keys of a table had changed in comparisons of these alone."""
    lines = [line for line in process.lines("equal") if line["cdc.table"].endswith(f".{table}")]
    return [line["cdc.changed_keys"] for line in lines if line.get("cdc.changed_keys")]


def test_what_is_away_or_lags_is_not_the_end(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    port, table = free_port(), f"{stream.database}.t"
    with pair_of(stream, **settings(port)) as pair:
        pair.catch_up(1)
        assert pair.connector.terminate() == 0
        stream.execute("INSERT INTO t VALUES (2)")
        with Verification.of(pair, port, "--patience", "0.2") as process:
            first, *_ = process.wait_for_lines("not finished", 1)
            lagging = process.figures("t")
            with stream.connector(**settings(port, source__port=1)) as other:
                # The server that the configuration names does not answer.
                del other
                process.kill()
                process.log.unlink()
                process.start()
                process.wait_for("interrupted")
                away = process.asked("/readyz")
            process.kill()
            stream.config(**settings(port))
            process.start()
            with pair.connector:
                pair.catch_up(2)
                wait_until(lambda: process.lines("equal"), process.output)
            assert process.terminate() == 0
    why = shown(verify_errors.CONNECTOR_LAGS, table=table, pipeline=stream.prefix, seconds=0.2)
    assert f"[{first['error.code']}] {first['error.message']}" == why
    assert lagging["verify_unfinished"] == 1
    assert "differences" not in lagging
    assert away[0] == 503
    assert away[1].startswith("not ready\nsource or Kafka does not answer: [")
    assert process.lines("equal")[0]["cdc.rows"] == 2


def test_updates_that_a_bug_of_the_job_drops_are_named(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO t VALUES {','.join(f'({number}, 0)' for number in range(30))}",
    )
    port, count = free_port(), stream.directory / "count"
    with pair_of(stream, **settings(port)) as pair:
        pair.catch_up(30)
        with Verification.of(pair, port) as process:
            process.wait_for_lines("equal", 1)
            with monkeypatch.context() as planted:
                planted.setattr(Changes, "last_of_keys", dropping(count, every=10))
                stream.execute("UPDATE t SET v = 1")
                pair.catch_up(60)
            named = process.wait_for_lines("row differs", 3)
    assert len(drop_times(count)) == 3
    assert len({line["cdc.key"]["id"] for line in named[:3]}) == 3
    assert all((line["cdc.kind"], line["cdc.columns"]) == ("different", ["v"]) for line in named)
