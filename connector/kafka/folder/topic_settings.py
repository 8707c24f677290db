"""Settings of topics: those that the log obeys, with the defaults of a broker.

https://kafka.apache.org/documentation/#topicconfigs
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka import errors

# Other settings of topics are kept, and nothing is done about them.
DEFAULTS: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_POLICIES: Final = frozenset({"compact", "delete"})


class Retention(NamedTuple):
    """What may go of a topic; None means no limit."""

    is_compacted: bool
    ms: int | None
    bytes: int | None


def check_name(name: str) -> None:
    """Raise InvalidTopicError for what cannot be the name of a topic."""
    if _NAME.fullmatch(name) is None or name in {".", ".."}:
        raise errors.InvalidTopicError


def check(configuration: Mapping[str, str]) -> None:
    """Raise InvalidConfigurationError for values that cannot be."""
    try:
        message_bytes_max(configuration)
        retention(configuration)
    except ValueError as error:
        raise errors.InvalidConfigurationError(str(error)) from error
    if not _policies(configuration) <= _POLICIES:
        raise errors.InvalidConfigurationError(configuration["cleanup.policy"])


def message_bytes_max(configuration: Mapping[str, str]) -> int:
    """Return the largest batch that a topic takes."""
    return int(_value(configuration, "max.message.bytes"))


def retention(configuration: Mapping[str, str]) -> Retention:
    """Return what may go of a topic."""
    policies = _policies(configuration)
    limits = [
        None if value < 0 or "delete" not in policies else value
        for value in (
            int(_value(configuration, name)) for name in ("retention.ms", "retention.bytes")
        )
    ]
    return Retention("compact" in policies, *limits)


def keeps_all(configuration: Mapping[str, str]) -> bool:
    """Return whether nobody may delete records: those of compacted topics are replaced alone."""
    return "delete" not in _policies(configuration)


def _policies(configuration: Mapping[str, str]) -> set[str]:
    return {each.strip() for each in _value(configuration, "cleanup.policy").split(",")} - {""}


def _value(configuration: Mapping[str, str], name: str) -> str:
    return configuration.get(name, DEFAULTS[name])
