"""Follows the cuts of a mirror until it is told to stop.

A target that cannot be reached is asked again, less and less often. Any other error ends the
process: a target that lacks one table would not be the state of any moment, so it stays at its cut.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Final

from connector.errors import (
    ConfigError,
    DefiniteError,
    MirrorError,
    TransientError,
    mirror_cuts,
    mirror_replica,
)
from stream_jobs.replica.figures import Figures, lag_of, serving
from stream_jobs.replica.lines import Lines
from stream_jobs.replica.replica import Replica

if TYPE_CHECKING:
    from typing import TextIO

    from stream_jobs.replica.replica import Step
    from stream_jobs.settings import Settings

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_TAKEN: Final = 3
_LOOK_SECONDS: Final = 0.5
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0


class Loop:
    """One process of a replica."""

    def __init__(self, settings: Settings, lines: Lines, stopped: threading.Event) -> None:
        """Write `lines`, and end soon after `stopped` is set. Raises ConfigError."""
        self._settings = settings
        self._lines = lines
        self._stopped = stopped
        self._replica = Replica(settings)
        self.figures = Figures(settings.name)

    def run(self, *, once: bool) -> int:
        """Follow the cuts, or apply the newest one, and return the exit code.

        Raises ConfigError for files of TLS that cannot be read.
        """
        target, path = self._replica.target_name, self._settings.mirror.path
        self._lines.write("started", name=self._settings.name, mirror=path, target=target)
        try:
            if once:
                self._once()
            else:
                self._follow()
        except ConfigError:
            raise
        except (DefiniteError, TransientError) as error:
            self._lines.fail(error.message)
            return EXIT_TAKEN if error.code == mirror_replica.TAKEN_OVER else EXIT_FAILED
        finally:
            self._replica.close()
        self._lines.write("stopped", cut=self._replica.applied.cut)
        return EXIT_OK

    def _once(self) -> None:
        step = self._replica.apply_newest()
        if step is not None:
            self._note(step)
        elif self._replica.applied.cut is None:
            path = self._settings.mirror.path
            raise MirrorError(mirror_cuts.NO_CUT, path=path, wanted="yet")

    def _follow(self) -> None:
        pause, is_idle = _FIRST_PAUSE_SECONDS, False
        while not self._stopped.is_set():
            try:
                step = self._replica.apply_newest()
            except TransientError as error:
                self.figures.is_up = False
                self._lines.wait(error.message, pause)
                self._stopped.wait(pause)
                pause, is_idle = min(2 * pause, _PAUSE_SECONDS_MAX), False
                continue
            pause = _FIRST_PAUSE_SECONDS
            if step is not None:
                self._note(step)
                is_idle = False
                continue
            if not is_idle:
                self._lines.write("idle", cut=self._replica.applied.cut)
                is_idle = True
            self._stopped.wait(_LOOK_SECONDS)

    def _note(self, step: Step) -> None:
        lag = lag_of(step)
        self.figures.note(step, lag)
        self._lines.write(
            "cut_applied",
            cut=step.cut,
            seconds=round(step.seconds, 3),
            tables=step.tables,
            loaded=step.loaded,
            deleted=step.deleted,
            inserted=step.inserted,
            source_time_ms=step.source_time_ms,
            lag_seconds=lag,
            left_out=step.left_out,
        )


def follow(settings: Settings, out: TextIO, *, once: bool) -> int:
    """Run until SIGTERM or SIGINT, and return the exit code. Raises ConfigError."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    loop = Loop(settings, Lines(out, settings.log.format, settings.name), stopped)
    with serving(loop.figures, settings.replica.listen):
        return loop.run(once=once)
