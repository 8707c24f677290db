"""Held changes that a user names become a request to the running pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.errors import ConfigError
from connector.errors import pipeline_commands as requests
from connector.quarantine.committed_fences import read_fences
from connector.quarantine.core.fences import ALL_TABLES
from connector.sink.commands import write_command

if TYPE_CHECKING:
    from connector.quarantine.core.fences import Fence
    from connector.settings.sections import Settings


class ReplayRequest(NamedTuple):
    """A request that was sent."""

    offset: int
    fences: list[Fence]  # what was held when it was sent


def ask_for_replay(settings: Settings, name: str, key: str | None = None) -> ReplayRequest:
    """Ask the pipeline to write what is held of a table, or of one key of it.

    `name` is DATABASE.TABLE. Raises ConfigError if nothing is held, SinkUnavailable or SinkRefused.
    """
    database, _, table = name.partition(".")
    fences = read_fences(settings.kafka, settings.name)
    wanted = [fence for fence in fences if fence.name == name and key in (None, fence.key)]
    if not wanted:
        raise _not_held(fences, name, key)
    arguments = {"database": database, "table": table, "key": key}
    offset = write_command(settings.kafka, settings.name, "replay", **arguments)
    return ReplayRequest(offset, wanted)


def _not_held(fences: list[Fence], name: str, key: str | None) -> ConfigError:
    fence = database_fence(fences, name)
    if fence is not None:
        return ConfigError(
            requests.DATABASE_KEPT_BACK, table=name, database=fence.database, since=fence.since
        )
    if key is not None:
        return ConfigError(requests.KEY_NOT_KEPT_BACK, table=name, key=key)
    return ConfigError(requests.NOT_KEPT_BACK, table=name)


def database_fence(fences: list[Fence], name: str) -> Fence | None:
    """Return the fence of the whole database of a table, where it holds for the table."""
    database, _, table = name.partition(".")
    for fence in fences:
        if (fence.database, fence.table) == (database, ALL_TABLES) and table not in fence.exempt:
            return fence
    return None
