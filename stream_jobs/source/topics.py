"""The topics of a pipeline, by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from connector.contract import SCHEMA_TOPIC_SUFFIX, control_topic

if TYPE_CHECKING:
    from collections.abc import Mapping


def row_topic_pattern(prefix: str) -> str:
    """Return the regular expression of `<prefix>.<database>.<table>`.

    Control topics (`<prefix>.schema`, `<prefix>.progress`) have one dot and do not match.
    """
    part = "[A-Za-z0-9_-]+"
    return rf"^{re.escape(prefix)}\.{part}\.{part}$"


def row_topics(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the topics with rows among `counts`, and their numbers of partitions."""
    pattern = re.compile(row_topic_pattern(prefix))
    return {topic: count for topic, count in sorted(counts.items()) if pattern.match(topic)}


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return control_topic(prefix, SCHEMA_TOPIC_SUFFIX)
