"""`verify --forever`: a process that compares until it is stopped."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import structlog

from connector.cli.daemon import loaded
from connector.cli.logs import configure_logging
from connector.errors import ConfigError, verification

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
        from verification.figures import Figures  # noqa: PLC0415  # an extra
        from verification.forever import Forever  # noqa: PLC0415  # an extra
        from verification.health import serving  # noqa: PLC0415  # an extra
        from verification.table_check import Limits  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(verification.EXTRA, said=error) from error
    settings = loaded(config)
    configure_logging(settings.log, command="verify", pipeline=settings.name)
    own = settings.verify
    speed = own.rows_per_second if rows_per_second is None else rows_per_second
    limits = Limits(speed, max_differences, patience, own.repair or repair)
    figures = Figures(settings.name)
    log = structlog.get_logger()
    # A stop ends what is being read: nothing has to be brought to its end.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with serving(figures, own.listen, patience):
            forever = Forever(settings, job, tables, limits, figures, of_replica=of_replica)
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
        log.info("stopped", rounds=figures.rounds)
    finally:
        signal.signal(signal.SIGTERM, before)
