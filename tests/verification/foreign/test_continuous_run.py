"""Rounds over tables of other programs: what ends them, and after what all rows are compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from connector.foundation.errors import (
    ConfigError,
    ConnectorError,
    SourceRefused,
    SourceUnavailable,
)
from connector.foundation.settings.sections import VerifySettings
from connector.replication import dump_errors
from connector.replication.server.addresses import source_settings
from verification import verify_errors
from verification.foreign import continuous_run, foreign_errors
from verification.foreign.continuous_run import ForeignContinuousRun
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.log_gaps import LogGaps
from verification.foreign.run import TablesRun
from verification.foreign.table_chain import TableChain
from verification.foreign.table_choice import TableChoice
from verification.metrics import VerificationMetrics
from verification.source_moment import SourceMoment

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSACTIONS = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7"
CHOICE = TableChoice("shop", "t", "delta:/t")
WRONG = ConfigError(foreign_errors.TARGET_FORM, text="shop.*=delta:/t", why="none", kinds=[])


class _EndedError(Exception):
    """The end of a run that would go on for ever."""


def forever(position: str = "b.000001:4") -> ForeignContinuousRun:
    """A process that knows one table."""
    settings = source_settings("mysql://audit@db1")
    metrics = VerificationMetrics("db1:3306")
    run = ForeignContinuousRun(settings, [CHOICE], ForeignLimits(), VerifySettings(), metrics)
    run._chains = {("shop", "t"): TableChain(CHOICE, position)}
    return run


def position(run: ForeignContinuousRun) -> str:
    return run._chains["shop", "t"].position


def runs(
    run: ForeignContinuousRun, monkeypatch: pytest.MonkeyPatch, *failures: ConnectorError
) -> None:
    """Run until all failures have come."""
    left: Iterator[Exception] = iter([*failures, _EndedError()])

    def fail() -> None:
        raise next(left)

    monkeypatch.setattr(run, "_connect", fail)
    monkeypatch.setattr(run._pauses, "pause", lambda _: None)
    run.run()


def test_a_choice_that_fits_no_more_does_not_end_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = forever()
    with pytest.raises(ConfigError):
        runs(run, monkeypatch, WRONG)
    run._metrics.rounds = 1
    with pytest.raises(_EndedError):
        runs(run, monkeypatch, WRONG)
    assert run._metrics.interrupted_by == str(WRONG)


def test_a_table_that_fits_no_more_is_not_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> ForeignResult:
        raise WRONG

    monkeypatch.setattr(TablesRun, "result", refused)
    run, log = forever(), SimpleNamespace()
    tables: Any = TablesRun(log, ForeignLimits(), lambda *_: None)  # type: ignore[arg-type]
    start: Any = SimpleNamespace(position="", at=SourceMoment(0, ""))
    compared = continuous_run._whole(tables, CHOICE, start)
    assert (compared.result.verdict, compared.result.error) == ("not finished", WRONG)
    with pytest.raises(ConfigError):
        run._take(("shop", "t"), compared)
    run._metrics.rounds = 1
    run._metrics.keep([("shop", "t")])
    run._take(("shop", "t"), compared)


def test_after_lost_transactions_all_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    run = forever()
    lost = SourceUnavailable(verify_errors.LOST, server="db1", lost="a:7")
    away = SourceUnavailable(verify_errors.OTHER_ANSWERS, server="db1")
    with pytest.raises(_EndedError):
        runs(run, monkeypatch, away)
    assert position(run)
    with pytest.raises(_EndedError):
        runs(run, monkeypatch, lost)
    assert not position(run)


def log_of(transactions: str, gaps: LogGaps) -> Any:
    """A log, and the moment of its server."""
    session = SimpleNamespace(identity=SimpleNamespace(flavour="mysql"))
    at = SourceMoment(0, transactions)
    server = SimpleNamespace(moments=SimpleNamespace(now=lambda: at), session=session)

    def read_all(readings: list[Any]) -> None:
        for reading in readings:
            reading.position = "b.000001:9"

    return SimpleNamespace(
        server=server,
        gaps=lambda **_: gaps,
        since=lambda: 0.0,
        beginning=lambda _: SimpleNamespace(position="b.000001:4"),
        read_all=read_all,
    )


def test_a_restored_server_must_have_the_transactions_of_the_last_round() -> None:
    run = forever()
    asked: list[str] = []
    run._start(log_of(TRANSACTIONS, LogGaps()))
    # No table was equal yet.
    assert not any(table.equal_through for table in run._metrics.tables.values())
    same = SimpleNamespace(require_transactions=asked.append, uuid="a")
    server: Any = SimpleNamespace(same=same)
    run._follow(server)
    assert asked == [TRANSACTIONS]


@pytest.mark.parametrize(
    ("transactions", "gaps", "is_known"),
    [
        (TRANSACTIONS, LogGaps(), True),
        (TRANSACTIONS, LogGaps(children=frozenset({("shop", "other")})), True),
        (TRANSACTIONS, LogGaps(children=frozenset({("shop", "t")})), False),
        (TRANSACTIONS, LogGaps("binlog_format=MIXED"), False),
        # Since the last round, the server has lost its GTIDs.
        ("", LogGaps(), False),
    ],
)
def test_where_the_log_is_no_witness_all_rows_are_compared(
    transactions: str, gaps: LogGaps, *, is_known: bool
) -> None:
    run = forever()
    start = run._start(log_of(transactions, gaps))
    assert bool(position(run)) is is_known
    assert bool(start.position) is (bool(transactions) and not gaps.setting)


def test_a_table_whose_log_cannot_be_read_is_named() -> None:
    run, log = forever(), log_of(TRANSACTIONS, LogGaps())
    logged: Any = SimpleNamespace(keys={}, needs_all_rows=False)
    run._chains["shop", "t"].logged = logged

    def read_all(readings: list[Any]) -> None:
        _, own = readings
        own.failure = SourceRefused(dump_errors.LOG_OFF, server="db1:3306")

    log.read_all = read_all
    with capture_logs() as lines:
        run._start(log)
    assert [(line["event"], line["table"]) for line in lines] == [("log not read", "shop.t")]
    assert not position(run)
