"""What comparisons that never end have in common: pauses between their rounds, and their log."""

import random
import time
import traceback
from typing import Final, Protocol

import structlog

from connector.foundation import errors
from connector.foundation.settings.sections import RetrySettings
from verification.metrics import VerificationMetrics
from verification.table_definitions import TableName

# The log names so many rows of a table; the figure counts all.
NAMED_MAX: Final = 20
# Of a defect, the innermost places of the code.
_FRAMES: Final = 8

_log = structlog.get_logger()


class RoundResult(Protocol):
    """What was found in one table, as far as every log line has it."""

    @property
    def name(self) -> str:
        """`database.table`."""
        ...

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        ...

    @property
    def rows(self) -> int:
        """Of the source."""
        ...

    @property
    def seconds(self) -> float:
        """How long the comparison took."""
        ...

    @property
    def changed_keys(self) -> int | None:
        """How many keys were compared because they have changed; None: all rows were."""
        ...

    @property
    def error(self) -> errors.ConnectorError | None:
        """Why the table could not be compared."""
        ...


class RoundPauses:
    """Waits between rounds, and after errors, each time longer; the metrics know of it."""

    def __init__(self, metrics: VerificationMetrics, retry: RetrySettings) -> None:
        """Wait as `retry` says after errors."""
        self._metrics = metrics
        self._retry = retry
        self._in_vain = 0

    def connected(self) -> None:
        """Note that all that is asked answers."""
        self._metrics.is_connected = True
        self._metrics.interrupted_by = ""

    def succeeded(self) -> None:
        """Wait after the next error as after the first one."""
        self._in_vain = 0

    def after(self, error: errors.ConnectorError) -> None:
        """Report that something that is asked is away, and wait for the next attempt."""
        retry = self._retry
        seconds = min(retry.initial_seconds * 2.0 ** min(self._in_vain, 30), retry.max_seconds)
        self._in_vain += 1
        self._metrics.is_connected = False
        self._metrics.interrupted_by = str(error)
        _log.warning("interrupted", **errors.fields(error), retry_in_seconds=seconds)
        self.pause(seconds)

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._metrics.turn(seconds)
        time.sleep(seconds)


def names_by_age(metrics: VerificationMetrics) -> list[TableName]:
    """Return the tables, those first that were not compared for the longest time."""
    tables = list(metrics.tables.values())
    # After a restart, no table is always the last one.
    random.shuffle(tables)
    tables.sort(key=lambda table: table.tried_at or 0.0)
    return [(table.database, table.table) for table in tables]


def end_round(metrics: VerificationMetrics) -> None:
    """Count a round, and report it."""
    metrics.rounds += 1
    _log.info("round ended", **metrics.summary())


def report_verdict(result: RoundResult, *, is_fine: bool, **facts: object) -> None:
    """Log what was found in a table, with `facts`; where nothing has changed, for debugging."""
    log = _log.info if is_fine else _log.warning
    if result.changed_keys == 0 and result.verdict == "equal":
        log = _log.debug
    log(
        result.verdict,
        table=result.name,
        rows=result.rows,
        seconds=round(result.seconds, 3),
        **facts,
        **({} if result.changed_keys is None else {"changed_keys": result.changed_keys}),
        **({} if result.error is None else errors.fields(result.error)),
    )


def report_defect(table: str, error: Exception) -> None:
    """Log a defect; its text may hold values."""
    frames = traceback.extract_tb(error.__traceback__)
    _log.error(
        "defect",
        table=table,
        error=type(error).__name__,
        places=[f"{frame.filename}:{frame.lineno}" for frame in frames[-_FRAMES:]],
    )
