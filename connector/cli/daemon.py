"""`run` and `check`: the stream into Kafka, and a check of its conditions."""

from __future__ import annotations

import gc
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from connector.cli import command_errors, freeze_objects
from connector.cli.exit_codes import errors, fail, log_failure, tell, warn
from connector.foundation.errors import (
    ConfigError,
    ConnectorError,
    DefiniteError,
    TransientError,
    fields,
)
from connector.foundation.errors.visible import visible
from connector.foundation.operating_system import StoppedHard
from connector.foundation.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from connector.foundation.settings.sections import LogSettings, Settings


def import_structlog() -> None:
    """Import structlog without rich, unless one of them is imported already.

    structlog prints tracebacks by rich where it finds it. The daemon logs no traceback, and rich
    with what it imports takes 35 ms and 4 MB.
    """
    modules: dict[str, Any] = sys.modules
    if "rich" in modules or "structlog" in modules:
        return
    # With None there, an import raises ImportError.
    modules["rich"] = None
    try:
        import_module("structlog")
    finally:
        del modules["rich"]


# 0 is a clean end, also after SIGTERM; each other code needs a different action of a supervisor.
EXIT_GAVE_UP = 1  # transient: retry.attempts_max was reached; starting again may help
EXIT_CONFIG = 2  # the configuration or the arguments are wrong
EXIT_DEFINITE = 3  # a restart cannot help; the text says what can
EXIT_STOPPED_HARD = 130

# The threads that compress and send need Python for microseconds, but wait for it as long as this;
# with Python's default of 5 ms, they are idle while the stream encodes.
_SWITCH_SECONDS = 0.0005

ConfigPath = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG", help="TOML file; `binlog-connector config` explains the keys."
    ),
]


def run(
    config: ConfigPath,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also log details that help to find a fault.")
    ] = False,
) -> None:
    """Stream changes into Kafka until SIGTERM or Ctrl-C.

    Exit codes: 0 stopped on request, 1 gave up on a transient error, 2 wrong configuration,
    3 an error that a restart cannot fix.
    """
    from connector.foundation.settings.configuration import log_format  # noqa: PLC0415  # keeps --help fast

    if log_format(config) == "json":
        exit_code_of(lambda: _stream(config, verbose=verbose), partial(_failing_in_log, config))
    else:
        exit_code_of(lambda: _stream(config, verbose=verbose))


def _failing_in_log(config: Path, error: ConnectorError, code: int) -> NoReturn:
    """Log the failure, even an error of the configuration that would have set up the log."""
    from connector.cli.daemon_log import configure_logging  # noqa: PLC0415  # keeps --help fast
    from connector.foundation.settings.configuration import pipeline_name  # noqa: PLC0415  # keeps --help fast
    from connector.foundation.settings.sections import LogSettings  # noqa: PLC0415  # keeps --help fast

    configure_logging(LogSettings(format="json"), pipeline=pipeline_name(config))
    log_failure(error, code)


def _stream(config: Path, *, verbose: bool) -> None:
    # The objects loaded so far stay to the end, so the garbage collector need not look at them.
    gc.disable()
    try:
        import_structlog()
        from structlog import get_logger  # noqa: PLC0415  # keeps --help fast

        from connector.cli.daemon_log import configure_logging  # noqa: PLC0415  # keeps --help fast
        from connector.foundation.operating_system import forbid_core_files  # noqa: PLC0415  # as above
        from connector.foundation.settings.configuration import (  # noqa: PLC0415
            load_settings,
            world_readable_warning,
        )
        from connector.stream.run.supervisor import supervise  # noqa: PLC0415  # keeps --help fast
        from connector.stream.status.status_log import RecentEvents  # noqa: PLC0415  # keeps --help fast

        settings = load_settings(config)
        log: LogSettings = settings.log
        events = RecentEvents()
        wanted = log.model_copy(update={"level": "debug"}) if verbose else log
        configure_logging(wanted, events, pipeline=settings.name)
        if warning := world_readable_warning(config):
            get_logger().warning("readable password", **fields(warning))
        if settings.source.hides:
            forbid_core_files()
        _tell_start(config, settings)
        freeze_objects()
    finally:
        gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    supervise(settings, events=events)


def _tell_start(config: Path, settings: Settings) -> None:
    import structlog  # noqa: PLC0415  # keeps --help fast

    from connector.foundation.compiled import mode  # noqa: PLC0415  # keeps --help fast

    source, kafka = settings.source, settings.kafka
    structlog.get_logger().info(
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


def check(config: ConfigPath) -> None:
    """Check Kafka and the source: would `run` start? Nothing is changed.

    You can use it while the pipeline runs. Exit codes: 0 ready, 1 transient: a server cannot be
    reached or lags, 2 wrong configuration, 3 an error that a restart cannot fix. A name or pattern
    that matches no table is no error, because the table may come later: the last line says it.
    """

    def report() -> None:
        from rich.console import Console  # noqa: PLC0415  # `run` needs none

        from connector.cli.check import check_pipeline  # noqa: PLC0415  # keeps --help fast
        from connector.cli.daemon_log import configure_logging  # noqa: PLC0415  # keeps --help fast

        settings = loaded(config)
        configure_logging(settings.log, command="check", pipeline=settings.name)
        console = Console()
        problems, unmatched = check_pipeline(settings, console, errors())
        if not problems:
            console.print("ready", style="bold green", end="" if unmatched else "\n")
            if unmatched:
                said = f", but source.tables matches no table by {visible(', '.join(unmatched))}"
                console.print(said, style="yellow", markup=False, highlight=False, soft_wrap=True)
            return
        console.print("not ready", style="bold red")
        *others, worst = problems
        for problem in others:
            tell(problem)
        raise worst

    exit_code_of(report)


def loaded(config: Path) -> Settings:
    """Return the settings for a command without a log; warn of a password that all users can read.

    Raises ConfigError with one line per wrong key.
    """
    from connector.foundation.settings.configuration import load_settings, world_readable_warning  # noqa: PLC0415

    settings = load_settings(config)
    if warning := world_readable_warning(config):
        warn(warning.text)
    return settings


def exit_code_of(
    command: Callable[[], None], fail: Callable[[ConnectorError, int], NoReturn] = fail
) -> None:
    """Run a command; on an error call `fail` with it, and end with its exit code."""
    try:
        command()
    except ConfigError as error:
        fail(error, EXIT_CONFIG)
    except TransientError as error:
        fail(error, EXIT_GAVE_UP)
    except ConnectorError as error:
        fail(error, EXIT_DEFINITE)
    except StoppedHard:
        fail(DefiniteError(command_errors.STOPPED_HARD), EXIT_STOPPED_HARD)
