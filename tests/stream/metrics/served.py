"""What a scrape shows of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


def served_figures(collector: Collector, prefix: str) -> dict[str, str]:
    """Return name and labels of each figure with its value, without the `prefix` of the names."""
    registry = CollectorRegistry()
    registry.register(collector)
    lines = generate_latest(registry).decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name.removeprefix(prefix): value for name, value in pairs}
