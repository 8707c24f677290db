"""Throughput now and over the last hour, from counters that are noted from time to time."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.status.model import Rates
from connector.stream.status.status_collector import Samples


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock: its last member is the time."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    return now


def test_now_is_the_mean_of_the_last_seconds(clock: list[float]) -> None:
    figures = PipelineMetrics("shop")
    ring = Samples(figures)
    figures.records, figures.transactions, figures.bytes = 100, 10, 5000
    clock.append(1005.0)
    ring.note()
    assert ring.throughput().now == Rates(20.0, 2.0, 1000.0)
    figures.records = 400
    clock.append(1008.0)
    # A sample of three seconds ago is too new: one large batch would look like a high rate.
    assert ring.throughput().now.records == 400 / 8
    clock.append(1011.0)
    assert ring.throughput().now.records == 300 / 6


def test_the_curve_has_the_last_hour(clock: list[float]) -> None:
    figures = PipelineMetrics("shop")
    ring = Samples(figures)
    for number in range(1, 1000):
        figures.records += 50 if number > 900 else 5
        clock.append(1000.0 + number * 5)
        ring.note()
    throughput = ring.throughput()
    points = throughput.hour
    assert throughput.records == figures.records
    # A point stands for 15 seconds.
    assert len(points) == 240
    assert points[-1].records == 10
    assert points[0].records == 1
    assert abs(points[-1].at - time.time()) < 15
    assert points[-1].at - points[0].at == pytest.approx(239 * 15)


def test_the_curve_stays_as_it_is_until_a_point_comes(clock: list[float]) -> None:
    figures = PipelineMetrics("shop")
    ring = Samples(figures)
    curves: list[list[float]] = []
    for number in range(1, 1000):
        figures.records += number
        clock.append(1000.0 + number * 5)
        ring.note()
        curves.append([point.records for point in ring.throughput().hour])
    # While it grows, and after an hour, when each new sample takes the place of an old one.
    for begin in (100, 900):
        different = sum(one != two for one, two in pairwise(curves[begin : begin + 61]))
        assert different == 20


def test_a_stream_that_delivers_nothing_more_rests_once(clock: list[float]) -> None:
    del clock
    figures = PipelineMetrics("shop")
    rests: list[int] = []
    ring = Samples(figures, lambda: rests.append(figures.bytes))
    for streaming, size, count in (
        (False, 0, 9),  # it is still being opened
        (True, 0, 9),
        (True, 7, 1),
        (True, 9, 3),  # a source that is calm changes something now and then
        (True, 11, 4),
        (False, 11, 9),  # it was interrupted
        (True, 12, 5),
    ):
        figures.streaming, figures.bytes = streaming, size
        for _ in range(count):
            ring.note()
    assert rests == [0, 12]


def test_the_thread_ends(clock: list[float]) -> None:
    del clock
    ring = Samples(PipelineMetrics("shop"))
    ring.start()
    assert "status-samples" in names()
    ring.close()
    assert "status-samples" not in names()


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]
