"""Connections to the source that are lost in the middle of a comparison are made again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.cli.configuration import loaded
from tests.integration.packet_proxy import PacketProxy
from tests.integration.verification.pair import pair_of
from verification import verify_errors
from verification.pipeline import Pipeline

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = [pytest.mark.server, pytest.mark.kafka]

CHOICES: list[dict[str, Any]] = [
    {"match": ["*.keyless"], "mode": "rows"},
    {"match": ["*.past"], "mode": "history"},
]
# More rows than those of small tables.
ROWS = 2400
# The proxy reads packets.
SETTINGS: dict[str, object] = {
    "source.tls__mode": "disabled",
    "retry__initial_seconds": 0.01,
    "retry__max_seconds": 0.1,
}
# Packets between two losses: each row is one.
PACKETS = 700


class _Losses:
    """Cuts the connection whose packet is due, for as often as there are losses left."""

    def __init__(self, count: int) -> None:
        self.left = count
        self._packets = 0

    def __call__(self, payload: bytes) -> bytes:
        self._packets += 1
        if self._packets % PACKETS == 0 and self.left:
            self.left -= 1
            raise OSError
        return payload


def filled(stream: Stream) -> int:
    """Make tables of each kind; return how many rows they have."""
    with_rows = f"SELECT seq, 'a value of the row' FROM numbers WHERE seq <= {ROWS}"
    some = [f"INSERT INTO {name} VALUES (1, 'x'), (2, 'y')" for name in ("small", "past")]
    stream.execute(
        "CREATE TABLE numbers (seq INT PRIMARY KEY)",
        "CREATE TABLE large (id INT PRIMARY KEY, v VARCHAR(30))",
        "CREATE TABLE texts (id VARCHAR(10) PRIMARY KEY, v VARCHAR(30))",
        "CREATE TABLE keyless (id INT, v VARCHAR(30))",
        *(f"CREATE TABLE {name} (id INT PRIMARY KEY, v CHAR(1))" for name in ("small", "past")),
        "INSERT INTO numbers VALUES (1)",
        *(
            f"INSERT INTO numbers SELECT seq + {2**power} FROM numbers WHERE seq <= {2**power}"
            for power in range(12)
        ),
        *(f"INSERT INTO {name} {with_rows}" for name in ("large", "texts", "keyless")),
        *some,
    )
    return 2**12 + 3 * ROWS + 4


def with_damage(row: Row) -> Row:
    """Return a row, the one with the id 7 damaged."""
    return row | {"v": "?"} if str(row["id"]) == "7" else row


def test_a_comparison_goes_on_and_finds_what_differs_and_nothing_else(
    either_stream: Stream,
) -> None:
    stream, losses = either_stream, _Losses(15)
    count = filled(stream)
    with pair_of(stream, CHOICES) as pair, PacketProxy(stream.source, losses) as proxy:
        pair.catch_up(count)
        for table in ("large", "texts", "keyless"):
            pair.damage(table, lambda rows: [with_damage(row) for row in rows])
        changed = {"source__port": proxy.port, **SETTINGS}
        stream.config(**changed, snapshot__chunk_rows=300)
        code, report = pair.report()
    found = {table["table"].partition(".")[2]: table for table in report["tables"]}
    assert {name: table["verdict"] for name, table in found.items()} == {
        "numbers": "equal",
        "large": "different",
        "texts": "different",
        "keyless": "different",
        "small": "equal",
        "past": "equal",
    }, report
    assert code == 4
    kinds = {name: [each["kind"] for each in own["differences"]] for name, own in found.items()}
    assert kinds["large"] == kinds["texts"] == ["different"]
    assert sorted(kinds["keyless"]) == ["missing", "surplus"]
    assert losses.left == 0


def test_what_threads_ask_together_is_asked_on_a_new_connection(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with pair_of(stream) as pair, PacketProxy(stream.source) as proxy:
        pair.catch_up(1)
        config = stream.config(**SETTINGS | {"source__port": proxy.port})
        with Pipeline(loaded(config), 30.0) as pipeline:
            before, moment = pipeline.reached(), pipeline.moment()
            proxy.cut()
            again, later = pipeline.reached(), pipeline.moment()
            proxy.cut()
            rows = pipeline.session.query("SELECT 1 AS found")
    assert again.position >= before.position
    assert later > moment
    assert rows == [{"found": "1"}]


def test_a_source_that_stays_away_is_not_waited_for_without_end(stream: Stream) -> None:
    count = filled(stream)
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(count)

        def lost(payload: bytes) -> bytes:
            if b"total" in payload:
                # The sums of a table.
                proxy.refuse()
            return payload

        with PacketProxy(stream.source, lost) as proxy:
            changed = {"source__port": proxy.port, **SETTINGS}
            stream.config(**changed)
            code, report = pair.report("--patience", "1", f"{stream.database}.large")
    (table,) = report["tables"]
    assert (code, table["verdict"]) == (1, "not finished"), table
    text = f"[{verify_errors.AWAY}] the source was away for 1 s: source 127.0.0.1:"
    assert table["error"].startswith(text), json.dumps(table)
