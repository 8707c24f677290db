"""Which state a pipeline is in, by its figures."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SinkUnavailable, SourceUnavailable
from connector.stream.metrics.pipeline_metrics import (
    FencedTable,
    Lag,
    PipelineMetrics,
    SnapshotMetrics,
)
from connector.stream.run import run_errors
from connector.stream.sink import kafka_errors
from connector.stream.snapshot import copy_errors
from connector.stream.status.conditions import conditions
from connector.stream.status.model import Level, State

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400
NO_ANSWER = SinkUnavailable(kafka_errors.NO_ANSWER, answered=False, servers="k:9092")
LOCKED = SourceUnavailable(copy_errors.LOCKED, table="shop.t")
DEAD = SourceUnavailable(run_errors.QUIET, address="db1:3306", seconds=4.0)


def streaming() -> PipelineMetrics:
    figures = PipelineMetrics("shop", turn_seconds_max=60.0)
    figures.begin_run()
    figures.kafka.answer()
    figures.lag = Lag(0, 0, 0.0, 3.0 * DAY, 3 * DAY)
    return figures


def late(figures: PipelineMetrics) -> None:
    figures.lag = Lag(900, 2, 12.0, 3.0 * DAY, 3 * DAY)


def purging(figures: PipelineMetrics) -> None:
    figures.lag = Lag(900, 2, 1.0, 0.2 * DAY, 1 * DAY)


def purging_by_size(figures: PipelineMetrics) -> None:
    figures.lag = Lag(900, 2, 1.0, 30.0)


def kept_for_ever(figures: PipelineMetrics) -> None:
    figures.lag = Lag(900, 2, 1.0, inf)


def copying(figures: PipelineMetrics) -> None:
    figures.copies = lambda: {"shop.t": SnapshotMetrics(1, 2, 1.0, 1.0)}


def locked_out(figures: PipelineMetrics) -> None:
    waiting = SnapshotMetrics(1, 2, 0.0, None, LOCKED, 90.0)
    figures.copies = lambda: {"shop.t": waiting, "shop.items": SnapshotMetrics(1, 2, 1.0, 1.0)}


def cascaded(figures: PipelineMetrics) -> None:
    figures.cascaded_tables = lambda: {"shop.t": 5.0, "shop.items": 35.0}


def fenced(figures: PipelineMetrics) -> None:
    figures.fences = lambda: 2
    figures.fenced_tables = lambda: {"shop.t": FencedTable(False, 2, 3, 0.0, "why")}


def failed(figures: PipelineMetrics) -> None:
    figures.failed_copies = lambda: {"shop.t": "why"}


def stuck(figures: PipelineMetrics) -> None:
    figures.turned_at = time.monotonic() - 100


def without_kafka(figures: PipelineMetrics) -> None:
    figures.lose(figures.kafka, NO_ANSWER)


def without_source(figures: PipelineMetrics) -> None:
    figures.streaming = False
    figures.interrupted_by = DEAD
    figures.source.lose(DEAD)


def waiting(figures: PipelineMetrics) -> None:
    figures.control.paused = True
    figures.streaming = False


def not_open(figures: PipelineMetrics) -> None:
    figures.streaming = False


@pytest.mark.parametrize(
    ("happens", "states", "worst"),
    [
        ([], [State.STREAMING], Level.GOOD),
        ([late], [State.LAGGING, State.STREAMING], Level.WARNING),
        ([kept_for_ever], [State.STREAMING], Level.GOOD),
        ([purging], [State.PURGE_SOON, State.STREAMING], Level.CRITICAL),
        ([purging_by_size], [State.PURGE_SOON, State.STREAMING], Level.CRITICAL),
        ([copying], [State.COPYING, State.STREAMING], Level.GOOD),
        ([locked_out], [State.COPYING, State.COPYING, State.STREAMING], Level.WARNING),
        ([cascaded], [State.COPYING, State.STREAMING], Level.GOOD),
        ([fenced, late], [State.QUARANTINE, State.LAGGING, State.STREAMING], Level.CRITICAL),
        ([failed], [State.COPY_FAILED, State.STREAMING], Level.CRITICAL),
        ([stuck], [State.STUCK, State.STREAMING], Level.CRITICAL),
        ([without_kafka], [State.KAFKA_AWAY, State.STREAMING], Level.WARNING),
        ([without_source], [State.SOURCE_AWAY, State.INTERRUPTED], Level.WARNING),
        ([waiting, late], [State.PAUSED], Level.WARNING),
        ([without_kafka, waiting], [State.KAFKA_AWAY, State.PAUSED], Level.WARNING),
        ([not_open], [State.STARTING], Level.WARNING),
        ([not_open, copying, late], [State.STARTING], Level.WARNING),
    ],
)
def test_the_most_urgent_condition_is_the_state(
    happens: list[Callable[[PipelineMetrics], None]], states: list[State], worst: Level
) -> None:
    figures = streaming()
    for happen in happens:
        happen(figures)
    found = conditions(figures, 0.02)
    assert [one.state for one in found] == states
    assert max((one.level for one in found), key=list(Level).index) is worst


def test_an_error_is_told_with_its_code() -> None:
    figures = streaming()
    without_kafka(figures)
    away = conditions(figures, 0.02)[0]
    assert away.code == kafka_errors.NO_ANSWER.code
    assert away.reason.startswith("Kafka has not answered for 0.0 s: kafka k:9092: ")


def test_a_copy_that_waits_for_a_lock_names_its_table() -> None:
    figures = streaming()
    locked_out(figures)
    waiting = conditions(figures, 0.02)[0]
    assert waiting.code == copy_errors.LOCKED.code
    assert waiting.reason == f"the copy of shop.t has waited for 1 min 30 s: {LOCKED.text}"


def test_a_stream_that_commits_seldom_is_not_late_for_that() -> None:
    figures = streaming()
    late(figures)
    assert [one.state for one in conditions(figures, 5.0)] == [State.STREAMING]


def test_the_table_that_waits_longest_for_a_copy_is_named() -> None:
    figures = streaming()
    cascaded(figures)
    assert conditions(figures, 0.02)[0].reason == (
        "rows of 2 tables that foreign keys have changed wait for their copy, those of shop.items "
        "for 35 s"
    )
