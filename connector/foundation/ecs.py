"""Lines of the log as objects of the Elastic Common Schema (ECS), which log stores know.

ECS gives names to the facts that all programs have: https://www.elastic.co/docs/reference/ecs.
Facts of ours are in `cdc.`, which is no name of ECS: without it, `source` and `error` would be
values where ECS has objects, and a store refuses such a line.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from connector.foundation import VERSION

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor

_ECS_VERSION = "8.11.0"
_SERVICE = "binlog-connector"
# By the names that our code gives them.
NAMES = {
    "timestamp": "@timestamp",
    "level": "log.level",
    "event": "message",
    "code": "error.code",
    "error": "error.message",
    "stack_trace": "error.stack_trace",
    "exit_code": "process.exit_code",
    "logger": "log.logger",
}
# The order of a line, for those who read it as it is.
_FIRST = ("timestamp", "level", "event")
_OWN = "cdc."
_OUR_NAMES = {name: own for own, name in NAMES.items()}


def as_ecs(command: str, pipeline: str | None) -> Processor:
    """Return a processor of structlog that names the facts of an entry.

    `command` is that of the process, such as `run`; `pipeline` is its name, if it is known.
    """
    same = {
        "labels.pipeline": pipeline,
        "service.name": _SERVICE,
        "service.version": VERSION,
        "event.dataset": f"{_SERVICE}.{command}",
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        "ecs.version": _ECS_VERSION,
    }

    def process(logger: object, method: str, entry: EventDict) -> EventDict:
        del logger, method
        first: dict[str, Any] = {name: entry.pop(name) for name in _FIRST}
        named = {NAMES.get(name, _OWN + name): value for name, value in {**first, **entry}.items()}
        # ECS has no null: what is not known is not there.
        return {name: value for name, value in (named | same).items() if value is not None}

    return process


def facts_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with the names that our code gives the facts, as `as_ecs` has taken them."""
    return {_OUR_NAMES.get(name, name.removeprefix(_OWN)): line[name] for name in line}
