"""`verify --state`: a pass that is interrupted goes on where it was."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.verification.pair import pair_of
from tests.length import FULL, full_only
from verification import verify_errors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka

# One SELECT sums 20,000 of them. The first one comes at once, each further one four seconds later:
# a state is written two seconds after the one before.
ROWS = 60_000
SLOWLY = ("--rows-per-second", "5000")


def fill(stream: Stream) -> None:
    """Make small tables, and `z`, whose sums take three SELECTs."""
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id VARCHAR(9) PRIMARY KEY, v INT)",
        "CREATE TABLE c (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE z (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1), (2)",
        "INSERT INTO b VALUES ('x', 1), ('y', 2)",
        "INSERT INTO c VALUES (1, 1)",
        "INSERT INTO z WITH RECURSIVE n AS (SELECT /*+ SET_VAR(cte_max_recursion_depth = 1000000) "
        f"*/ 0 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {ROWS - 1}) SELECT id FROM n",
    )


@full_only
def test_a_pass_that_was_interrupted_goes_on_where_it_was(stream: Stream) -> None:
    fill(stream)
    path = stream.directory / "pass.state"
    with pair_of(stream, snapshot__connections=1) as pair:
        pair.catch_up(5 + ROWS)
        for name in ("b", "c"):
            pair.damage(name, lambda rows: [row | {"v": 7} for row in rows])
        interrupt(pair, path, signal.SIGKILL)
        # A difference that was found is looked at again.
        pair.damage("c", lambda rows: [row | {"v": 1} for row in rows])
        other = pair.verify("--state", str(path), f"{stream.database}.a")
        begun = read(path)
        code, report = pair.report("--state", str(path))
        assert not path.exists()
    state_other = shown(verify_errors.STATE_OTHER, path=path, names=["tables"])
    assert (other.returncode, other.stderr) == (2, f"error: {state_other}\n")
    database = stream.database
    tables = {each["table"].removeprefix(f"{database}."): each for each in report["tables"]}
    assert {name: each["verdict"] for name, each in tables.items()} == {
        "a": "equal",
        "b": "different",
        "c": "equal",
        "z": "equal",
    }
    assert code == 4
    # Rows of `b` and `c` are read at the same pace as `z`, so they may be finished or not.
    assert f"{database}.a" in begun["finished"]
    for name, finished in begun["finished"].items():
        found = tables[name.removeprefix(f"{database}.")]
        assert found["compared_at"] == finished["compared_at"]
    assert [tables["a"]["rows"], tables["b"]["rows"]] == [2, 2]
    assert [each["key"] for each in tables["b"]["differences"]] == [{"id": "x"}, {"id": "y"}]
    kept = sum(begun["begun"][f"{database}.z"]["rows"])
    assert (tables["z"]["rows"], tables["z"]["rows_from_state"]) == (ROWS, kept)
    assert 0 < kept < ROWS


def test_a_table_that_was_not_finished_is_compared_by_the_next_run(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO b VALUES (1)",
    )
    path = stream.directory / "pass.state"
    table = f"{stream.database}.b"
    with pair_of(stream) as pair:
        pair.catch_up(2)
        assert pair.connector.terminate() == 0
        stream.execute("INSERT INTO b VALUES (2)")
        first = pair.verify("--state", str(path), "--patience", "0.5")
        kept = read(path)["finished"]
        with stream.connector() as again:
            stream.wait_for_changes(3, again)
            wait_until_settled(stream.broker, stream.prefix)
            pair.apply()
            second = pair.verify("--state", str(path))
    lags = shown(verify_errors.CONNECTOR_LAGS, table=table, pipeline=stream.prefix, seconds=0.5)
    assert (first.returncode, list(kept)) == (1, [f"{stream.database}.a"])
    wrong, equal, _ = first.stdout.splitlines()
    assert wrong == f"{table}: not finished: {lags}"
    one, two, _ = second.stdout.splitlines()
    at = kept[f"{stream.database}.a"]["compared_at"]
    assert one == f"{equal}, compared at {at}"
    assert two.startswith(f"{table}: equal: 2 rows at ")
    assert "compared at" not in two
    assert second.returncode == 0
    assert not path.exists()


@pytest.mark.skipif(not FULL, reason="another interrupted pass: `make test-all`")
def test_a_row_that_is_damaged_between_two_runs_is_found_if_it_was_not_compared(
    stream: Stream,
) -> None:
    fill(stream)
    path = stream.directory / "pass.state"
    with pair_of(stream, snapshot__connections=1) as pair:
        pair.catch_up(5 + ROWS)
        interrupt(pair, path, signal.SIGINT)
        pair.damage("z", with_one_more)
        again = pair.verify("--state", str(path))
    database = stream.database
    assert f"{database}.z: different: 1 of {ROWS} rows" in again.stdout
    (equal,) = (line for line in again.stdout.splitlines() if line.startswith(f"{database}.a: "))
    assert equal.startswith(f"{database}.a: equal: 2 rows at ")
    assert ", compared at 20" in equal
    assert not path.exists()


def with_one_more(rows: list[Row]) -> list[Row]:
    return [*rows, {**rows[0], "id": ROWS + 5}]


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def interrupt(pair: Pair, path: Path, number: signal.Signals) -> None:
    """Start a pass, and end it while it sums the last table."""
    config, mirror = str(pair.connector.config), str(pair.job_config)
    output = pair.stream.directory / "interrupted.log"
    arguments = ("verify", config, "--mirror", mirror, "--state", str(path), *SLOWLY)
    process = forked_command.start(*arguments, errors=output)
    name = f"{pair.stream.database}.z"
    wait_until(
        lambda: path.exists() and read(path)["begun"].get(name, {}).get("rows"),
        output.read_text,
    )
    process.send_signal(number)
    assert process.wait(30) == (-signal.SIGKILL if number is signal.SIGKILL else 130)
