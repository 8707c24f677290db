"""Thirty pipelines, some of them sick: what tests and pictures show."""

from __future__ import annotations

from connector.stream.status.model import Condition, Level, State
from connector.stream.status.pipeline_list import ListedPipeline, PipelineList, by_urgency
from tests.stream.status.examples import NOW, WELL

_FENCED = Condition(
    State.QUARANTINE,
    Level.CRITICAL,
    "changes of billing.invoices are held back, by 2 fences; `binlog-connector quarantine list` "
    "shows them",
)
_SET_ASIDE = Condition(
    State.MIRROR_SET_ASIDE,
    Level.CRITICAL,
    "the Spark job cannot go on with crm.contacts [M405]; `binlog-connector-mirror status` says "
    "why",
)
_LATE = Condition(
    State.LAGGING, Level.WARNING, "the stream is 4 min 10 s late, 81,442 transactions"
)
_AWAY = Condition(
    State.SOURCE_AWAY, Level.WARNING, "source has not answered for 42 s: connection refused", "S101"
)
_STOPPED = Condition(State.STOPPED, Level.CRITICAL, "no process answers at 10.0.4.17:9400")
_REFUSED = Condition(
    State.UNKNOWN,
    Level.CRITICAL,
    "/etc/binlog-connector/search.toml: unknown key kafka.topic_prefx; did you mean "
    "kafka.topic_prefix?",
    "C202",
)
_NAMES = (
    "accounts", "audit", "billing", "carts", "catalogue", "crm", "delivery", "fraud", "geo", "hr",
    "identity", "invoices", "ledger", "loyalty", "mail", "media", "orders", "payments", "prices",
    "quotes", "returns", "reviews", "search", "sessions", "shop-eu-central-1-production-primary",
    "stock", "suppliers", "support", "tickets", "warehouse",
)  # fmt: skip
_SICK = {
    "billing": (_FENCED, _LATE),
    "crm": (_SET_ASIDE,),
    "media": (_STOPPED,),
    "search": (_REFUSED,),
    "payments": (_AWAY,),
    "shop-eu-central-1-production-primary": (_LATE,),
}


def fleet() -> PipelineList:
    """Return them as the command lists them."""
    listed = [_pipeline(number, name) for number, name in enumerate(_NAMES)]
    return PipelineList(NOW, by_urgency(listed))


def _pipeline(number: int, name: str) -> ListedPipeline:
    conditions = [*_SICK.get(name, ()), WELL]
    file, address = f"/etc/binlog-connector/{name}.toml", f"10.0.4.{number + 2}:9400"
    if conditions[0] is _REFUSED:
        return ListedPipeline(file, name, conditions[:1], is_refused=True)
    if conditions[0] is _STOPPED:
        return ListedPipeline(file, name, conditions[:1], address)
    return ListedPipeline(
        file,
        name,
        conditions,
        address,
        lag_seconds=250.0 if _LATE in conditions else 0.1 * (number % 7),
        mirror_lag_seconds=None if number % 3 else 1.2 + number / 10,
        records_per_second=number * 41.5,
        to_purge_seconds=250_000.0,
        tables=number * 7,
    )
