"""How long a table keeps its log and the files of old versions, as its properties say.

https://docs.delta.io/latest/table-properties.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from connector.errors import MirrorError, mirror_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = "delta.logRetentionDuration"
FILES = "delta.deletedFileRetentionDuration"
CHECKPOINTS = "delta.checkpointInterval"

_SECOND = 1000
_UNITS = {
    "millisecond": 1,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3600 * _SECOND,
    "day": 86400 * _SECOND,
    "week": 7 * 86400 * _SECOND,
}
_TERM = re.compile(r"([0-9]+) ([a-z]+?)s?")
# A file that a batch has written and not committed yet is nobody's; no batch takes an hour. And a
# writer knows the state of a table for the time of a batch, without reading the log.
_MIN = _UNITS["hour"]


class Retention(NamedTuple):
    """Times in milliseconds."""

    log: int
    files: int
    commits: int  # from one checkpoint to the next

    @classmethod
    def of(cls, path: str, configuration: Mapping[str, str]) -> Retention:
        """Read the properties of the table at `path`; the defaults are those of Delta.

        Raises MirrorError for a text that is not a time or a number.
        """
        return cls(
            max(_time(path, configuration, LOG, "interval 30 days"), _MIN),
            max(_time(path, configuration, FILES, "interval 1 week"), _MIN),
            _number(path, configuration, CHECKPOINTS, "10"),
        )


def _time(path: str, configuration: Mapping[str, str], name: str, default: str) -> int:
    text = configuration.get(name, default)
    words = text.lower().removeprefix("interval").split()
    total = 0
    for start in range(0, len(words), 2):
        match = _TERM.fullmatch(" ".join(words[start : start + 2]))
        if match is None or match[2] not in _UNITS:
            raise MirrorError(mirror_tables.PROPERTY_WRONG, path=path, name=name, value=text)
        total += int(match[1]) * _UNITS[match[2]]
    return total


def _number(path: str, configuration: Mapping[str, str], name: str, default: str) -> int:
    text = configuration.get(name, default)
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise MirrorError(mirror_tables.PROPERTY_WRONG, path=path, name=name, value=text)
    return int(text)
