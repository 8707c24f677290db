"""A stream that waits for its source is woken by what other threads ask of it."""

from __future__ import annotations

import re

import pytest

from connector.foundation.errors import SourceUnavailable
from connector.replication import dump
from connector.replication.dump import HEARTBEAT_SECONDS, HEARTBEATS_PER_READ_TIMEOUT
from connector.stream.metrics.control import SILENT_SECONDS, Control
from connector.stream.run import run_errors


@pytest.fixture
def wakings() -> list[Control]:
    """Return the controls that have woken their streams."""
    return []


@pytest.fixture
def control(wakings: list[Control]) -> Control:
    control = Control()
    control.wake = lambda: wakings.append(control)
    return control


def doubt() -> SourceUnavailable:
    return SourceUnavailable(run_errors.QUIET, address="db1:3306", seconds=5.0)


def test_a_pause_and_its_end_wake_the_stream(control: Control, wakings: list[Control]) -> None:
    seen = []
    for paused in (True, False):
        control.pause(paused=paused)
        seen.append((control.paused, len(wakings)))
    assert seen == [(True, 1), (False, 2)]


def test_a_doubt_wakes_the_stream_and_none_does_not(
    control: Control, wakings: list[Control]
) -> None:
    control.suspect(None)
    assert not wakings
    control.suspect(doubt())
    assert control.doubt is not None
    assert len(wakings) == 1


def test_a_lost_topic_wakes_the_stream(control: Control, wakings: list[Control]) -> None:
    control.lose_topic("shop.orders", doubt())
    assert control.lost_topic is not None
    assert len(wakings) == 1


def test_an_idle_stream_gets_three_heartbeats_before_its_source_counts_as_lost() -> None:
    assert HEARTBEATS_PER_READ_TIMEOUT * HEARTBEAT_SECONDS < SILENT_SECONDS


def test_a_server_that_sends_heartbeats_alone_counts_as_idle() -> None:
    assert dump._IDLE_SECONDS < HEARTBEAT_SECONDS


def test_where_heartbeats_are_more_frequent_a_silence_ends_the_connection_before_it_counts() -> (
    None
):
    assert HEARTBEATS_PER_READ_TIMEOUT * dump._IDLE_SECONDS < SILENT_SECONDS


@pytest.mark.parametrize("page", ["configs/connector.toml", "docs/operations.md", "docs/errors.md"])
def test_texts_say_how_often_a_heartbeat_comes(pytestconfig: pytest.Config, page: str) -> None:
    text = (pytestconfig.rootpath / page).read_text("utf-8")
    named = re.findall(r"heartbeat (?:at least )?every ([\d.]+) seconds", " ".join(text.split()))
    assert set(named) == {f"{HEARTBEAT_SECONDS:g}"}


def test_texts_say_below_which_timeout_heartbeats_are_more_frequent_and_when_a_source_is_lost(
    pytestconfig: pytest.Config,
) -> None:
    settings, operations = (
        (pytestconfig.rootpath / page).read_text("utf-8")
        for page in ("configs/connector.toml", "docs/operations.md")
    )
    limit = HEARTBEATS_PER_READ_TIMEOUT * HEARTBEAT_SECONDS
    assert f"below {limit:g}, three in this time" in settings
    named = re.findall(r"After ([\d.]+) seconds of silence, `source_up` is 0", operations)
    assert set(named) == {f"{SILENT_SECONDS:g}"}
