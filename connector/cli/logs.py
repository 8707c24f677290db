"""What the daemon says while it runs: settings to one line for each thing that happened."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from connector.settings.sections import LogSettings


def configure_logging(settings: LogSettings) -> None:
    """Send one line for each thing that happened to standard error."""
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
    # The Kafka client's own log repeats what our errors say; it helps to find a fault.
    client = logging.getLogger("kafka")
    client.setLevel(logging.INFO if level == logging.DEBUG else logging.CRITICAL)
    client.propagate = False
    client.handlers = [_ClientHandler()]


class _ClientHandler(logging.Handler):
    """Writes what a library logs as lines of our log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, of the lowest level: our errors say what matters of it."""
        structlog.get_logger().debug(record.getMessage(), logger=record.name)
