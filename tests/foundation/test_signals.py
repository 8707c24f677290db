"""Signals: the first asks, the second insists; and what ends a wait."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from connector.foundation.operating_system import StoppedHard, StopSignals

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_wait_for_data(
    number: signal.Signals, pair: tuple[socket.socket, socket.socket]
) -> None:
    with StopSignals() as stop:
        began = time.monotonic()
        timer = threading.Timer(0.2, os.kill, (os.getpid(), number))
        timer.start()
        assert not stop.await_data(pair[0].fileno(), 30)
        timer.join()
        assert stop.requested
        assert time.monotonic() - began < 10


def test_another_thread_ends_a_wait_for_data(pair: tuple[socket.socket, socket.socket]) -> None:
    with StopSignals() as stop:
        began = time.monotonic()
        timer = threading.Timer(0.2, stop.wake)
        timer.start()
        assert not stop.await_data(pair[0].fileno(), 30)
        timer.join()
        assert not stop.requested
        # One that came before the wait ends it as well, and each ends one wait.
        stop.wake()
        assert not stop.await_data(pair[0].fileno(), 30)
        assert time.monotonic() - began < 10
        assert not stop.await_data(pair[0].fileno(), 0.01)
    # Outside of `with`, nobody waits.
    stop.wake()


def test_data_and_the_end_of_a_connection_end_a_wait(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    near, far = pair
    with StopSignals() as stop:
        assert not stop.await_data(near.fileno(), 0.0)
        far.send(b"data")
        assert stop.await_data(near.fileno(), 30)
        near.recv(4)
        far.close()
        assert stop.await_data(near.fileno(), 30)


def test_a_sleep_outlasts_what_wakes_other_waits() -> None:
    with StopSignals() as stop:
        stop.wake()
        began = time.monotonic()
        stop.sleep(0.2)
        assert time.monotonic() - began >= 0.2


def test_the_handlers_before_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with StopSignals():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
