"""What a line of the Spark job or of the replica tells, by the names of our code."""

from __future__ import annotations

import json
from typing import Any

from connector.foundation.ecs import facts_of

# Of every line of a process, and of the moment.
_OF_ALL = {
    *("timestamp", "level", "labels.pipeline", "service.name", "service.version"),
    *("event.dataset", "host.name", "process.pid", "ecs.version"),
}


def told(text: str) -> dict[str, Any]:
    """Return the facts of a line, without those that every line has."""
    return {name: fact for name, fact in facts_of(json.loads(text)).items() if name not in _OF_ALL}
