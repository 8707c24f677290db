"""The log of the daemon: settings, then one line for each event of the run."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from connector.settings.sections import LogSettings


def configure_logging(settings: LogSettings) -> None:
    """Send the log to standard error, one line for each entry."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # The Kafka client's own log repeats our errors; it helps to find a fault.
    client = logging.getLogger("kafka")
    client.setLevel(logging.INFO if level == logging.DEBUG else logging.CRITICAL)
    client.propagate = False
    client.handlers = [_ClientHandler()]


class _ClientHandler(logging.Handler):
    """Writes the log of a library as lines of our log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line of the lowest level, because our errors report the important facts."""
        structlog.get_logger().debug(record.getMessage(), logger=record.name)
