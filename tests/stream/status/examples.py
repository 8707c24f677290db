"""Facts that tests show."""

from __future__ import annotations

from connector.stream.metrics.pipeline_metrics import FencedTable
from connector.stream.status.model import (
    Condition,
    CopyProgress,
    Host,
    LagStatus,
    Level,
    MirrorStatus,
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

NOW = 1_790_000_000.0
WELL = Condition(State.STREAMING, Level.GOOD, "everything is delivered")


def facts_with(
    *conditions: Condition,
    tables: tuple[TableStatus, ...] = (),
    events: tuple[ProcessEvent, ...] = (),
    hosts: tuple[Host, ...] = (Host("db1:3306", in_use=True),),
    purge: Purge | None = None,
    mirror: MirrorStatus | None = None,
) -> PipelineStatus:
    """Return the facts of a running process."""
    return PipelineStatus(
        pipeline="shop",
        at=NOW,
        conditions=list(conditions or (WELL,)),
        process=Process("node1", 4711, "ab12", NOW - 60, "0.1.0", "compiled"),
        position=Position("binlog.000042", 1187, "3e11fa47:1-9", 2, "mysql", "3e11", NOW - 1, NOW),
        hosts=list(hosts),
        lag=LagStatus(1.5, 2000, 3),
        purge=purge or Purge(86_400.0, 259_200.0),
        throughput=Throughput(
            Rates(12.5, 3.0, 4096.0),
            [RatePoint(NOW - 30, 10.0), RatePoint(NOW - 15, 20.0), RatePoint(NOW, 0.0)],
            records=450,
            transactions=90,
            bytes=9000,
            commits=30,
            interruptions=1,
        ),
        tables=list(tables),
        events=list(events),
        mirror=mirror,
    )


COPIED = TableStatus("shop.orders", 3, 300, NOW - 5, CopyProgress("copying", 25, 100, 5.0, 15.0))
FENCED = TableStatus(
    "shop.items", 1, 90, None, kept_back=FencedTable(False, 2, 14, NOW - 600, "too large")
)
WAITING = TableStatus("shop.next", copy=CopyProgress("waiting", 0, 0))
CASCADED = TableStatus("shop.items", copy=CopyProgress("waiting", 0, 0, since=NOW - 35))
FAILED = TableStatus("shop.old", copy=CopyProgress("failed", 0, 0, error="may not be read"))
