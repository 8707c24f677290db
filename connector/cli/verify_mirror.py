"""`verify --mirror` and `--replica`: one comparison, or `--forever` one after the other."""

from __future__ import annotations

import json
import secrets
import signal
import sys
from typing import TYPE_CHECKING, Final

import structlog
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from connector.cli.daemon import loaded
from connector.cli.daemon_log import configure_logging
from connector.cli.exit_codes import errors
from connector.foundation.errors import ConfigError
from connector.foundation.errors.visible import visible
from connector.foundation.settings import settings_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.progress import TaskID

    from verification.report import TableResult


_SEEDS: Final = 1_000_000


def verify_mirror(
    config: Path,
    job: Path,
    tables: Sequence[str],
    *,
    of_replica: bool,
    as_json: bool,
    no_values: bool,
    repair: bool,
    rows_per_second: int,
    max_differences: int,
    patience: float,
    sample: float | None,
    seed: int | None,
    since: str,
    state: Path | None,
) -> None:
    """Compare tables with mirrors or a replica, print what is found, and exit with its code.

    Raises ConfigError if packages are missing, and the errors of `loaded` and of
    `verification.run.verify`.
    """
    try:
        from verification.key_ranges import Sample  # noqa: PLC0415  # an extra
        from verification.report import exit_code, report  # noqa: PLC0415  # an extra
        from verification.run import verify  # noqa: PLC0415  # an extra
        from verification.table_check import Limits  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    if seed is None:
        seed = secrets.randbelow(_SEEDS)
    part = None if sample is None else Sample(sample, seed)
    limits = Limits(rows_per_second, max_differences, patience, repair, part, since)
    with _display() as display:
        settings, shown = loaded(config), _Shown(display)
        found = verify(settings, job, tables, limits, shown, state, of_replica=of_replica)
        results = _printed(found, as_json=as_json, with_values=not no_values)
    if as_json:
        json.dump(report(results, with_values=not no_values), sys.stdout, indent=2)
        sys.stdout.write("\n")
    if code := exit_code(results):
        raise typer.Exit(code)


def _printed(
    found: Iterator[TableResult], *, as_json: bool, with_values: bool
) -> list[TableResult]:
    """Print each result as it comes."""
    results = []
    for result in found:
        results.append(result)
        if not as_json:
            for line in result.lines(with_values=with_values):
                typer.echo(visible(line))
    return results


def _display() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors(),
        transient=True,
        disable=not errors().is_terminal,
    )


class _Shown:
    """Shows how many rows of a table were read."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._task: TaskID | None = None
        self._table = ""

    def __call__(self, table: str, done: int, total: int) -> None:
        """Show that `done` rows were read, of about `total`."""
        if table != self._table:
            if self._task is not None:
                self._display.remove_task(self._task)
            self._task = self._display.add_task(visible(table), total=None)
            self._table = table
        assert self._task is not None
        self._display.update(self._task, completed=done, total=max(done, total))


def verify_forever(
    config: Path,
    job: Path,
    tables: Sequence[str],
    *,
    of_replica: bool,
    repair: bool,
    rows_per_second: int | None,
    max_differences: int,
    patience: float,
) -> None:
    """Compare tables with mirrors or a replica until SIGTERM or Ctrl-C.

    Options that are given override the section [verify]. Raises ConfigError if packages are
    missing, for wrong settings, and for an address that cannot be used.
    """
    try:
        from verification.continuous_run import ContinuousRun  # noqa: PLC0415  # an extra
        from verification.metrics import (  # noqa: PLC0415
            VerificationMetrics,  # an extra
            metrics_server,  # an extra
        )
        from verification.table_check import Limits  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    settings = loaded(config)
    configure_logging(settings.log, command="verify", pipeline=settings.name)
    own = settings.verify
    speed = own.rows_per_second if rows_per_second is None else rows_per_second
    limits = Limits(speed, max_differences, patience, own.repair or repair)
    metrics = VerificationMetrics(settings.name)
    log = structlog.get_logger()
    # A stop ends what is being read: nothing has to be brought to its end.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with metrics_server(metrics, own.listen, patience):
            forever = ContinuousRun(settings, job, tables, limits, metrics, of_replica=of_replica)
            log.info(
                "starting",
                name=settings.name,
                compared_with="replica" if of_replica else "mirror",
                job=str(job),
                rows_per_second=limits.rows_per_second,
                pause_seconds=own.pause_seconds,
                repair=limits.repairs,
                metrics=own.listen,
            )
            forever.run()
    except KeyboardInterrupt:
        log.info("stopped", rounds=metrics.rounds)
    finally:
        signal.signal(signal.SIGTERM, before)
