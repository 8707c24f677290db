"""What /healthz says of the main loop."""

from __future__ import annotations

import time

from connector.stream.metrics.pipeline_metrics import PipelineMetrics, healthz, readyz


def test_a_main_loop_that_does_not_turn_is_stuck() -> None:
    figures = PipelineMetrics("p", turn_seconds_max=60.0)
    assert healthz(figures) == (True, "well: the main loop turned 0 s ago")
    figures.turned_at = time.monotonic() - 100
    assert healthz(figures) == (
        False,
        (
            "stuck: the main loop turned 100 s ago, and a turn takes 60 s at most: look at the "
            "log, and start the process again"
        ),
    )
    figures.turn()
    assert healthz(figures)[0]


def test_what_is_not_open_yet_is_not_ready() -> None:
    figures = PipelineMetrics("p")
    assert readyz(figures) == (
        False,
        (
            "not ready\nthe source has not been reached yet\nKafka has not been reached yet\n"
            "the stream is not open yet"
        ),
    )
