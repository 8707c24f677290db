"""Configuration, connecting, server settings and grants."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group


def _settings(key: str, what: str, fix: str) -> Cause:
    return Cause(key, what, fix, End.CONFIGURATION)


CONFIGURATION = Group(
    "Configuration",
    "Said by every command, before anything is connected to.",
    (
        _settings(
            "config.kafka_file",
            "kafka.{key} {path}: {why}",
            ": name a PEM file that this user may read",
        ),
        _settings("metrics.listen", "metrics.listen {listen}: {why}", ": choose another address"),
    ),
)


SETTINGS = (CONFIGURATION,)
