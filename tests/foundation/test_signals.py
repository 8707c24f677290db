"""Signals: the first asks, the second insists."""

from __future__ import annotations

import os
import signal
import time

import pytest

from connector.foundation.operating_system import StoppedHard, StopSignals

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_a_request(number: signal.Signals) -> None:
    with StopSignals() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested


@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_stops_at_once(number: signal.Signals) -> None:
    with StopSignals() as stop:
        os.kill(os.getpid(), number)
        assert stop.requested
        with pytest.raises(StoppedHard):
            os.kill(os.getpid(), number)


def test_a_clean_stop_that_takes_too_long_becomes_a_hard_one() -> None:
    with StopSignals(grace_seconds=1):
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedHard):
            time.sleep(30)


def test_a_request_ends_a_sleep() -> None:
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        began = time.monotonic()
        stop.sleep(30)
        assert time.monotonic() - began < 10


def test_the_handlers_before_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with StopSignals():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
