"""The results of copies, read by other programs than the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.changes.table_filter import TableFilter
from connector.contract import SNAPSHOT_TOPIC_SUFFIX
from connector.errors import ConfigError, copies
from connector.sink.commands import write_command
from connector.sink.recovery import read_latest
from connector.snapshot.copy_orders import DISMISSAL
from connector.snapshot.table_state import TableState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.settings.sections import KafkaSettings


def copy_has_failed(settings: KafkaSettings, pipeline: str, name: str) -> bool:
    """Return whether the last copy of all rows of the table `name` has failed.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a state of another version.
    """
    return any(
        f"{database}.{table}" == name for database, table in failed_copies(settings, pipeline)
    )


def failed_copies(settings: KafkaSettings, pipeline: str) -> list[tuple[str, str]]:
    """Return the tables whose last copy of all rows has failed; raises as `copy_has_failed`."""
    states = [
        TableState.decode(value, f"{pipeline}/{name}")
        for name, value in read_latest(settings, SNAPSHOT_TOPIC_SUFFIX, pipeline).items()
    ]
    return [
        (state.database, state.table)
        for state in states
        if state.phase == "failed" and not state.where
    ]


def ask_to_dismiss(
    settings: KafkaSettings, pipeline: str, patterns: Sequence[str]
) -> list[tuple[str, str]]:
    """Ask the pipeline to let failed copies of tables count as complete; return the tables.

    Raises ConfigError for a pattern that matches none, else as `copy_has_failed`.
    """
    failed = failed_copies(settings, pipeline)
    found: dict[tuple[str, str], None] = {}
    for pattern in patterns:
        wanted = TableFilter([pattern])
        matching = [name for name in failed if wanted.follows(*name)]
        if not matching:
            raise ConfigError(copies.NONE_FAILED, pattern=pattern)
        found |= dict.fromkeys(matching)
    write_command(settings, pipeline, DISMISSAL, tables=[list(name) for name in found])
    return list(found)
