"""The configuration of a pipeline for its commands: its settings, and the log that they ask for."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from connector.cli.exit_codes import warn
from connector.foundation.ecs import as_ecs
from connector.foundation.errors.message import visible_fields, visible_json
from connector.foundation.errors.secrets_in_urls import value_without_secrets
from connector.foundation.line_bounds import bound_entry
from connector.foundation.line_output import line_output
from connector.foundation.settings.configuration import load_settings, world_readable_warning
from connector.foundation.settings.sections import LogSettings, Settings

if TYPE_CHECKING:
    from structlog.typing import Processor

    from connector.stream.status.status_log import RecentEvents


def loaded(config: Path) -> Settings:
    """Return the settings for a command without a log; warn of a password that all users can read.

    Raises ConfigError with one line per wrong key.
    """
    settings = load_settings(config)
    if warning := world_readable_warning(config):
        warn(warning.text)
    return settings


def configure_logging(
    settings: LogSettings,
    events: RecentEvents | None = None,
    *,
    command: str = "run",
    pipeline: str | None = None,
) -> None:
    """Send the log to standard error, one line for each entry; `events` keeps the last ones.

    If the log is JSON, each line names `command` and, if it is known, `pipeline`.
    """
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderers: tuple[Processor, ...] = (
        (as_ecs(command, pipeline), structlog.processors.JSONRenderer(visible_json))
        if settings.format == "json"
        else (_drop_nulls, _make_visible, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _hide_secrets,
            *(() if events is None else (events.keep, partial(_drop_below, level))),
            bound_entry,
            *renderers,
        ],
        # What is kept does not depend on what is written.
        wrapper_class=structlog.make_filtering_bound_logger(
            level if events is None else min(level, logging.INFO)
        ),
        logger_factory=structlog.PrintLoggerFactory(line_output(sys.stderr)),
        cache_logger_on_first_use=False,
    )
    # The Kafka client's own log repeats our errors; it helps to find a fault.
    client = logging.getLogger("kafka")
    client.setLevel(logging.INFO if level == logging.DEBUG else logging.CRITICAL)
    client.propagate = False
    client.handlers = [_ClientHandler()]


def _hide_secrets(
    logger: object, method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Take passwords out of URLs: a processor of structlog."""
    del logger, method
    return {name: value_without_secrets(value) for name, value in entry.items()}


def _drop_below(
    level: int, logger: object, method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Drop a line of a lower level: a processor of structlog."""
    del logger, method
    if logging.getLevelNamesMapping()[entry["level"].upper()] < level:
        raise structlog.DropEvent
    return entry


def _drop_nulls(
    logger: object, method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Leave out what is not known, as lines in JSON do: a processor of structlog."""
    del logger, method
    return {name: value for name, value in entry.items() if value is not None}


def _make_visible(
    logger: object, method: str, entry: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Let no text of a server or a topic steer the terminal, or begin a line: a processor."""
    del logger, method
    return visible_fields(entry)


class _ClientHandler(logging.Handler):
    """Writes the log of a library as lines of our log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line of the lowest level, because our errors report the important facts."""
        structlog.get_logger().debug(record.getMessage(), logger=record.name)
