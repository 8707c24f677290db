"""`verify --mirror` and `--replica`: one comparison, or `--forever` one after the other."""

import json
import secrets
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from rich import progress

from connector.cli.configuration import configure_logging, loaded
from connector.cli.exit_codes import errors, say
from connector.foundation.errors.message import visible
from connector.foundation.operating_system import share_one_arena
from connector.foundation.settings.sections import Settings
from verification.continuous_run import ContinuousRun
from verification.key_ranges import Sample
from verification.metrics import VerificationMetrics, metrics_server
from verification.report import TableResult, exit_code, report, report_lines
from verification.run import verify
from verification.run_progress import RunProgress
from verification.table_check import Limits

_SEEDS: Final = 1_000_000


def paced(settings: Settings, pace: str | None) -> Settings:
    """Return settings with the pace of --pace, if it is given."""
    if pace is None:
        return settings
    own: dict[str, object] = {"pace": pace}
    if pace == "full":
        own["threads_running_max"] = 0
    return settings.model_copy(update={"snapshot": settings.snapshot.model_copy(update=own)})


def verify_mirror(arguments: Namespace) -> int:
    """Compare tables with mirrors or a replica, print what is found, and return its exit code.

    Raises the errors of `loaded` and of `verification.run.verify`.
    """
    # Dozens of threads wait for pipeline and mirror.
    share_one_arena()
    of_replica, with_values = arguments.replica is not None, not arguments.no_values
    seed = secrets.randbelow(_SEEDS) if arguments.seed is None else arguments.seed
    limits = Limits(
        arguments.rows_per_second or 0,
        arguments.max_differences,
        arguments.patience,
        arguments.repair,
        None if arguments.sample is None else Sample(arguments.sample, seed),
        arguments.since or "",
    )
    run = RunProgress()
    with shown(run):
        found = verify(
            paced(loaded(arguments.config), arguments.pace),
            arguments.mirror or arguments.replica,
            arguments.tables,
            limits,
            run,
            arguments.state,
            of_replica=of_replica,
        )
        # As they are named, not as they end.
        results = sorted(found, key=lambda result: result.name)
    if arguments.json:
        json.dump(report(results, with_values=with_values), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(results, with_values=with_values, shows_all=arguments.all)
    return exit_code({result.verdict for result in results})


def _print(results: list[TableResult], *, with_values: bool, shows_all: bool) -> None:
    for line in report_lines(results, with_values=with_values, shows_all=shows_all):
        say(visible(line))


# The display is drawn so often.
_DRAW_SECONDS: Final = 0.2


@contextmanager
def shown(run: RunProgress) -> Iterator[None]:
    """Show on a terminal how far a run is, for the length of a block."""
    console = errors()
    if not console.is_terminal:
        yield
        return
    display = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[figures]}", markup=False),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    ended = threading.Event()
    with display:
        thread = threading.Thread(target=_draw, args=(run, display, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _draw(run: RunProgress, display: progress.Progress, ended: threading.Event) -> None:
    task = display.add_task("", total=None, figures="")
    while not ended.wait(_DRAW_SECONDS):
        now = run.figures()
        display.update(
            task,
            description=visible(now.current) or "tables",
            completed=now.done,
            total=now.tables or None,
            figures=f"{now.ended:,}/{now.tables:,} tables, {now.rows:,} rows",
        )


def verify_forever(arguments: Namespace) -> int:
    """Compare tables with mirrors or a replica until SIGTERM or Ctrl-C.

    Options that are given override the section [verify]. Raises ConfigError for wrong settings, and
    for an address that cannot be used.
    """
    of_replica = arguments.replica is not None
    job, patience = arguments.mirror or arguments.replica, arguments.patience
    settings = paced(loaded(arguments.config), arguments.pace)
    configure_logging(settings.log, command="verify", pipeline=settings.name)
    own, speed = settings.verify, arguments.rows_per_second
    limits = Limits(
        own.rows_per_second if speed is None else speed,
        arguments.max_differences,
        patience,
        own.repair or arguments.repair,
    )
    metrics = VerificationMetrics(settings.name)

    def forever() -> None:
        with metrics_server(metrics, own.listen, patience):
            run = ContinuousRun(
                settings,
                job,
                arguments.tables,
                limits,
                metrics,
                arguments.state,
                of_replica=of_replica,
            )
            structlog.get_logger().info(
                "starting",
                name=settings.name,
                compared_with="replica" if of_replica else "mirror",
                job=str(job),
                rows_per_second=limits.rows_per_second,
                pause_seconds=own.pause_seconds,
                full_every_hours=own.full_every_hours,
                repair=limits.repairs,
                metrics=own.listen,
            )
            run.run()

    run_until_stopped(forever, metrics)
    return 0


def run_until_stopped(run: Callable[[], None], metrics: VerificationMetrics) -> None:
    """Run what has no end until SIGTERM or Ctrl-C."""
    # A stop ends what is being read: nothing has to be brought to its end.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        structlog.get_logger().info("stopped", rounds=metrics.rounds)
    finally:
        signal.signal(signal.SIGTERM, before)
