"""Facts of a shop in each state of a running process, as a person on call finds them."""

from __future__ import annotations

from dataclasses import replace

from connector.stream.metrics.pipeline_metrics import FencedTable
from connector.stream.status.model import (
    Condition,
    CopyProgress,
    Host,
    LagStatus,
    Level,
    MirrorStatus,
    MirrorTable,
    PipelineStatus,
    Position,
    Process,
    ProcessEvent,
    Purge,
    RatePoint,
    Rates,
    State,
    TableStatus,
    Throughput,
)
from tests.stream.status.examples import NOW

_SERVER = "7d819525-e839-11f1-8f31-02fc00000001"
_RATES = (540, 560, 610, 580, 700, 1240, 2075, 1610, 960, 720, 640, 610, 590, 640, 655, 600)
_TABLES = (
    TableStatus("shop.orders", 53_309, 34_900_000, NOW - 0.2),
    TableStatus("shop.order_lines", 211_870, 88_400_000, NOW - 0.2),
    TableStatus("shop.products", 801, 522_000, NOW - 9),
    TableStatus("shop.customers", 520, 339_000, NOW - 41),
)
_MIRRORS = MirrorStatus(
    job_address="127.0.0.1:9401",
    job_note="",
    verify_address="127.0.0.1:9402",
    verify_note="",
    set_aside=0,
    last_batch_seconds=0.6,
    running_batch_seconds=0.0,
    tables=[
        MirrorTable("shop.orders", 0.9, 18_204, 6, 4182, NOW - 0.6, 42.0, 0),
        MirrorTable("shop.order_lines", 0.9, 71_377, 9, 4182, NOW - 0.6, 38.0, 0),
        MirrorTable("shop.products", 0.4, 96, 1, 311, NOW - 8.4, 35.0, 0),
        MirrorTable("shop.customers", 0.4, 500, 1, 207, NOW - 40.2, 34.0, 0),
    ],
)
_EVENTS = (
    ProcessEvent(
        NOW - 96,
        "info",
        "DDL",
        {"kind": "ALTER TABLE", "table": "shop.products", "position": "binlog.000042:4344548"},
    ),
    ProcessEvent(NOW - 340, "info", "streaming", {"source": "db2:3306", "resumed": "True"}),
    ProcessEvent(
        NOW - 341,
        "warning",
        "another server goes on with the stream",
        {"source": "db2:3306", "source_before": "db1:3306", "epoch": "2"},
    ),
    ProcessEvent(
        NOW - 352,
        "warning",
        "interrupted",
        {"error": "source db1:3306: cannot connect: Connection refused"},
        "S101",
        times=4,
        last_at=NOW - 344,
    ),
)
# What is wrong, if something is.
_SAID: dict[State, tuple[Level, str, str | None]] = {
    State.STUCK: (Level.CRITICAL, "the main loop has not turned for 16 min 4 s", None),
    State.KAFKA_AWAY: (Level.WARNING, "Kafka has not answered for 41 s", "K103"),
    State.SOURCE_AWAY: (Level.WARNING, "the source has not answered for 12 s", "S101"),
    State.PAUSED: (Level.WARNING, "somebody asked for it on the status page", None),
    State.INTERRUPTED: (Level.WARNING, "source db1:3306: cannot connect", "S101"),
    State.STARTING: (Level.WARNING, "the stream is not open yet", None),
    State.PURGE_SOON: (Level.CRITICAL, "the source may drop log files in 3 h 10 min", None),
    State.QUARANTINE: (Level.CRITICAL, "changes of shop.orders are held back, by 2 fences", None),
    State.COPY_FAILED: (Level.CRITICAL, "the copy of shop.orders failed", None),
    State.MIRROR_FAILED: (
        Level.CRITICAL,
        "the Spark job at 127.0.0.1:9401 failed at 2026-11-24 18:10:38 UTC: No space left",
        "M502",
    ),
    State.MIRROR_DIFFERS: (Level.CRITICAL, "shop.orders differed from the source", None),
    State.MIRROR_SET_ASIDE: (
        Level.CRITICAL,
        "the Spark job cannot go on with shop.orders [M225]",
        None,
    ),
    State.MIRROR_AWAY: (Level.WARNING, "the Spark job does not answer", None),
    State.MIRROR_LAGGING: (Level.WARNING, "a mirror is 4 min behind", None),
    State.LAGGING: (Level.WARNING, "the stream is 2 min 5 s late", None),
    State.COPYING: (Level.GOOD, "1 table is being copied", None),
    State.STREAMING: (Level.GOOD, "everything that the source has committed is delivered", None),
}
_CHANGED: dict[State, TableStatus] = {
    State.COPYING: replace(
        _TABLES[0], copy=CopyProgress("copying", 1_240_000, 5_000_000, 41_200.0, 91.0)
    ),
    State.COPY_FAILED: replace(
        _TABLES[0], copy=CopyProgress("failed", 0, 0, error="[S531] SELECT is not granted")
    ),
    State.QUARANTINE: replace(
        _TABLES[0],
        kept_back=FencedTable(False, 2, 14, NOW - 600, "a record has 18 MB, of 16 MB at most"),
    ),
}
_BEHIND = {
    State.LAGGING: LagStatus(125.0, 94_000_000, 8_210),
    State.PURGE_SOON: LagStatus(240_000.0, 81_000_000_000, 9_400_000),
}


STATES = tuple(_SAID)


def facts_in(state: State) -> PipelineStatus:
    """Return the facts of a process in a state."""
    level, reason, code = _SAID[state]
    first = _CHANGED.get(state, _TABLES[0])
    purge = Purge(11_400.0 if state is State.PURGE_SOON else 2_590_000.0, 2_592_000.0)
    return PipelineStatus(
        pipeline="shop",
        at=NOW,
        conditions=[Condition(state, level, reason, code)],
        process=Process("node1", 4711, "9f2c", NOW - 91_000, "0.1.0", "compiled"),
        position=Position(
            "binlog.000042", 4_405_185, f"{_SERVER}:1-4021", 2, "mysql", _SERVER, NOW - 0.1, NOW
        ),
        hosts=[
            Host("db1:3306", in_use=False, note="cannot connect: Connection refused", code="S101"),
            Host("db2:3306", in_use=True, can_continue=True),
        ],
        lag=_BEHIND.get(state, LagStatus(0.0, 0, 0)),
        purge=purge,
        throughput=_throughput(),
        tables=[first, *_TABLES[1:]],
        events=list(_EVENTS),
        mirror=_MIRRORS,
    )


def _throughput() -> Throughput:
    points = [
        RatePoint(NOW - 15.0 * (len(_RATES) - number), rate)
        for number, rate in enumerate(_RATES, 1)
    ]
    now = Rates(records=600.0, transactions=87.0, bytes=390_000.0)
    return Throughput(now, points, 266_500, 61_200, 124_000_000, 23_900, 4)
