"""Configuration, connecting, server settings and grants."""

from __future__ import annotations

from tests.errors.cause import Cause, End, Group

_EXPLAINS = "; `binlog-connector config` explains the key"
_LISTS = "; `binlog-connector config` lists the keys"


def _settings(key: str, what: str, fix: str) -> Cause:
    return Cause(key, what, fix, End.CONFIGURATION)


CONFIGURATION = Group(
    "Configuration",
    "Said by every command, before anything is connected to.",
    (
        _settings(
            "config.unreadable",
            "{path}: cannot read the configuration: {why}",
            ": give the path of a file such as `binlog-connector config` prints",
        ),
        _settings(
            "config.not_toml",
            "{path}: not valid TOML: {why}",
            "; `binlog-connector config` shows how it is written",
        ),
        _settings(
            "config.missing",
            "{path}: {key} is required",
            " (or set {variable})",
        ),
        _settings("config.unknown", "{path}: unknown key {key}", _LISTS),
        _settings("config.meant", "{path}: unknown key {key} (did you mean {other}?)", _LISTS),
        _settings("config.value", "{path}: {key}: {why}", _EXPLAINS),
        _settings(
            "config.variable",
            "environment variable {variable}: there is no key {key}",
            _LISTS,
        ),
        _settings(
            "config.not_json",
            "environment variable {variable}: not JSON",
            ': write a list like ["first", "second"], and a section like {{"key": "value"}}',
        ),
        _settings(
            "config.kafka_file",
            "kafka.{key} {path}: {why}",
            ": name a PEM file that this user may read",
        ),
        _settings("metrics.listen", "metrics.listen {listen}: {why}", ": choose another address"),
    ),
)


SETTINGS = (CONFIGURATION,)
