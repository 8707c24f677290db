"""Ten thousand tables, some of which need somebody: what tests and pictures show."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from connector.stream.metrics.pipeline_metrics import FencedTable
from connector.stream.status.conditions import mirror_conditions, quarantine_conditions
from connector.stream.status.model import (
    CopyProgress,
    MirrorStatus,
    MirrorTable,
    PipelineStatus,
    State,
    TableStatus,
)
from connector.stream.status.status_collector import by_urgency
from tests.stream.status.examples import NOW
from tests.stream.status.states import facts_in

TENANTS: Final = 500
_TABLES: Final = (
    "addresses", "baskets", "basket_lines", "customers", "deliveries", "discounts", "invoices",
    "invoice_lines", "notes", "orders", "order_lines", "payments", "prices", "products", "refunds",
    "returns", "reviews", "stock", "suppliers", "warehouses",
)  # fmt: skip
# By default, so many mirrors have metrics of their own: `metrics.tables_max`.
_MEASURED: Final = 1000
_BUSY: Final = 480_000
_FENCED: Final = {
    "tenant_0042.orders": FencedTable(
        False, 2, 14, NOW - 600, "a record has 18 MB, of 16 MB at most"
    ),
    "tenant_0317.notes": FencedTable(
        True, 1, 820, NOW - 5400, "a change was logged as a statement"
    ),
}
_COPIES: Final = {
    "tenant_0201.invoices": CopyProgress("failed", 0, 0, error="[S531] SELECT is not granted"),
    "tenant_0500.orders": CopyProgress("copying", 1_240_000, 5_000_000, 41_200.0, 91.0),
    "tenant_0500.order_lines": CopyProgress("waiting", 0, 0),
    "tenant_0500.payments": CopyProgress("waiting", 0, 0),
}
_SET_ASIDE: Final = {
    "tenant_0042.prices": "M225", "tenant_0042.stock": "M225", "tenant_0377.reviews": "M405",
}  # fmt: skip
_DIFFERENT: Final = {"tenant_0130.payments": 3}
_LATE: Final = {"tenant_0007.orders": 412.0, "tenant_0007.order_lines": 388.0}


def names() -> list[str]:
    """Return the names of all tables."""
    return [f"tenant_{tenant:04}.{table}" for tenant in range(1, TENANTS + 1) for table in _TABLES]


def many_tables() -> PipelineStatus:
    """Return the facts of a process that has them, with what is wrong."""
    tables = by_urgency([_table(number, name) for number, name in enumerate(names())])
    mirror = _mirrors([table.name for table in tables])
    failed = [name for name, copy in _COPIES.items() if copy.phase == "failed"]
    copying = facts_in(State.COPYING)
    throughput = copying.throughput
    assert throughput is not None
    lags = [
        replace(point, lag=0.1 + number * 5 % 7 / 10)
        for number, point in enumerate(throughput.hour)
    ]
    conditions = [
        *quarantine_conditions(3, [*_FENCED], failed), *mirror_conditions(mirror),
        replace(copying.state, reason="3 tables are being copied"),
    ]  # fmt: skip
    return replace(
        copying,
        pipeline="tenants",
        conditions=conditions,
        throughput=replace(throughput, hour=lags),
        tables=tables,
        mirror=mirror,
    )


def _table(number: int, name: str) -> TableStatus:
    # Few tables have most of the changes.
    records = _BUSY // (1 + number * 7 % 9973)
    return TableStatus(
        name,
        records,
        records * 655,
        NOW - 0.2 - 30_000 / (records + 1),
        _COPIES.get(name),
        _FENCED.get(name),
    )


def _mirrors(by_records: list[str]) -> MirrorStatus:
    tables = [_mirror(number, name) for number, name in enumerate(by_records)]
    tables.sort(
        key=lambda table: (
            table.set_aside is None, -(table.differences or 0), -(table.lag_seconds or 0.0)
        )
    )  # fmt: skip
    facts = facts_in(State.STREAMING).mirror
    assert facts is not None
    return replace(facts, tables=tables, set_aside=len(_SET_ASIDE))


def _mirror(number: int, name: str) -> MirrorTable:
    mirror = MirrorTable(
        name,
        verified_seconds=40.0 + number * 13 % 311,
        differences=_DIFFERENT.get(name, 0),
        set_aside=_SET_ASIDE.get(name),
    )
    urgent = name in _LATE or mirror.set_aside or mirror.differences
    if number >= _MEASURED and not urgent:
        return mirror
    return replace(
        mirror,
        lag_seconds=_LATE.get(name, 0.3 + number * 7 % 11 / 10),
        rows=50 + number * 977 % 20_011,
        files=1 + number % 6,
        version=1 + number * 31 % 4001,
        last_commit=NOW - 0.6 - number * 17 % 491,
    )
