"""How the brokers are reached."""

from __future__ import annotations

from typing import NamedTuple


class KafkaFacts(NamedTuple):
    """How the brokers are reached: plain values, which Spark can send to its tasks."""

    bootstrap_servers: tuple[str, ...]
    timeout_seconds: float
    # Arguments of kafka-python for TLS and login.
    security: tuple[tuple[str, object], ...]
