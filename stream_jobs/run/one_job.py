"""Runs the pipeline of one configuration file until it ends."""

from pathlib import Path
from typing import Final, TextIO

from connector.foundation.errors import ConfigError
from stream_jobs.run.console_lines import open_lines
from stream_jobs.run.job import run
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.metrics_server import metrics_server
from stream_jobs.settings import Settings, load_settings

_EXIT_CONFIG: Final = 2


def run_file(config: Path, out: TextIO) -> int:
    """Run the job of `config`, which writes status lines to `out`; return the exit code."""
    lines = open_lines(out, Settings.peek(config, "log.format"), Settings.peek(config, "name"))
    try:
        settings = load_settings(config)
        metrics = JobMetrics(settings.name)
        own = settings.metrics
        with metrics_server(metrics, own.listen, own.tables_max):
            return run(settings, lines, metrics)
    except ConfigError as error:
        lines.fail(error.message)
        return _EXIT_CONFIG
