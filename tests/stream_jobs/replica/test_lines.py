"""The lines of the replica, for people."""

from __future__ import annotations

import io

from connector.foundation.errors.message import Message
from stream_jobs.replica import replica_errors
from stream_jobs.replica.loop import ReplicaLines


def said(event: str, **facts: object) -> str:
    out = io.StringIO()
    ReplicaLines(out, "console").write(event, **facts)
    # Without the time.
    return out.getvalue()[22:].rstrip("\n")


def test_each_event_is_a_sentence() -> None:
    assert said("started", name="shop", target="db:3306", mirror="/m") == (
        "started: db:3306 follows the mirror in /m"
    )
    assert said("idle", cut=4) == "idle: the target has cut 4, the newest one"
    assert said("stopped", cut=4) == "stopped: the target has cut 4"
    assert said("failed", error="x", code="M905") == ""


def test_a_cut_is_a_line_with_its_rows_and_its_lag() -> None:
    facts = {"cut": 12, "inserted": 1234, "deleted": 1, "tables": 2, "seconds": 0.5}
    assert said("cut_applied", **facts, lag_seconds=1.2, loaded=[], left_out={}) == (
        "cut 12        1,234 rows in        1 out    2 tables    0.50 s     2,470/s  lag 1.2 s"
    )
    one = said(
        "cut_applied",
        **facts | {"tables": 1},
        lag_seconds=None,
        loaded=["shop.a"],
        left_out={"shop.b": "why"},
    )
    assert one.endswith("1 table     0.50 s     2,470/s  loaded: shop.a  without: shop.b")


def test_what_is_waited_for_is_said() -> None:
    out = io.StringIO()
    message = Message(replica_errors.COLLISION, {"server": "target db:3306", "number": 1213})
    ReplicaLines(out, "console").wait(message, 0.5)
    assert out.getvalue()[22:] == (
        "[M914] target db:3306: another transaction holds rows that the replica writes (error "
        "1213); end programs that write to these tables; the cut is applied again; next attempt in "
        "0.5 s\n"
    )
