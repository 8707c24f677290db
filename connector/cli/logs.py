"""What the daemon says while it runs: settings to one line for each thing that happened."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from connector.config import LogSettings


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
    # The Kafka client's own log repeats what our errors say.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
