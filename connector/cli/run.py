"""`run`: the stream into Kafka, until a signal or an error ends it."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

from structlog import get_logger

from connector.cli import command_errors
from connector.cli.configuration import configure_logging
from connector.cli.exit_codes import EXIT_INTERRUPTED, fail, pipeline_exit_codes
from connector.cli.start import freeze_objects
from connector.foundation import VERSION, operating_system
from connector.foundation.compiled import mode
from connector.foundation.errors import ConnectorError, DefiniteError, fields
from connector.foundation.settings import configuration
from connector.foundation.settings.sections import LogSettings, Settings
from connector.stream.run.supervisor import supervise
from connector.stream.status.status_log import RecentEvents

# The threads that compress and send need Python for microseconds, but wait for it as long as this;
# with Python's default of 5 ms, they are idle while the stream encodes.
_SWITCH_SECONDS = 0.0005


def run(arguments: Namespace) -> int:
    """Stream changes into Kafka until SIGTERM or Ctrl-C."""
    config: Path = arguments.config
    is_for_machines = configuration.log_format(config) == "json"
    with run_exit_codes(partial(_fail_in_log, config) if is_for_machines else fail):
        _stream(config, verbose=arguments.verbose)
    return 0


@contextmanager
def run_exit_codes(fail: Callable[[ConnectorError, int], NoReturn]) -> Iterator[None]:
    """Call `fail` with an error of the block, also with a hard stop, and with its exit code."""
    with pipeline_exit_codes(fail):
        try:
            yield
        except operating_system.StoppedHard:
            fail(DefiniteError(command_errors.STOPPED_HARD), EXIT_INTERRUPTED)


def _fail_in_log(config: Path, error: ConnectorError, code: int) -> NoReturn:
    """Log the error as the last line of a log for machines, and end with `code`.

    An error of the configuration has kept the log from being set up.
    """
    configure_logging(LogSettings(format="json"), pipeline=configuration.pipeline_name(config))
    get_logger().error("failed", **fields(error), exit_code=code)
    raise SystemExit(code) from error


def _stream(config: Path, *, verbose: bool) -> None:
    settings = configuration.load_settings(config)
    log: LogSettings = settings.log
    events = RecentEvents()
    wanted = log.model_copy(update={"level": "debug"}) if verbose else log
    configure_logging(wanted, events, pipeline=settings.name)
    if warning := configuration.world_readable_warning(config):
        get_logger().warning("readable password", **fields(warning))
    if settings.source.hides:
        operating_system.forbid_core_files()
    _tell_start(config, settings)
    operating_system.share_one_arena()
    # The objects made so far stay to the end, so the garbage collector need not look at them.
    freeze_objects()
    sys.setswitchinterval(_SWITCH_SECONDS)
    supervise(settings, events=events)


def _tell_start(config: Path, settings: Settings) -> None:
    source, kafka = settings.source, settings.kafka
    get_logger().info(
        "starting",
        version=VERSION,
        build=mode(),
        config=str(config),
        name=settings.name,
        source=f"{source.host}:{source.port}",
        kafka=",".join(kafka.bootstrap_servers),
        topic_prefix=kafka.topic_prefix,
        start=source.start,
        metrics=settings.metrics.listen,
    )
