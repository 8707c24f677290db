"""What systemd is told, over a real socket, and the unit file."""

from __future__ import annotations

import os
import re
import socket
import time
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.cli.exit_codes import EXIT_CONFIG, EXIT_DEFINITE
from connector.foundation.settings.sections import Settings
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.run.monitoring import systemd_notifications

if TYPE_CHECKING:
    from collections.abc import Iterator

UNIT = Path(__file__).parents[3] / "configs" / "systemd" / "binlog-connector@.service"


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address.replace("@", "\0", 1))
        receiver.settimeout(10)
        yield receiver


def heard(receiver: socket.socket, word: str) -> list[str]:
    """Return the messages up to the first one that begins with `word`."""
    messages: list[str] = []
    while not (messages and messages[-1].startswith(word)):
        messages.append(receiver.recv(4096).decode())
    return messages


@pytest.mark.parametrize("place", ["{tmp_path}/notify", "@binlog-connector-test-{pid}"])
def test_systemd_hears_that_it_runs_and_what_readyz_says(tmp_path: Path, place: str) -> None:
    address = place.format(tmp_path=tmp_path, pid=os.getpid())
    figures = PipelineMetrics("p", turn_seconds_max=60.0)
    with (
        listening(address) as receiver,
        systemd_notifications(figures, {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"}),
    ):
        assert receiver.recv(4096) == b"READY=1"
        assert receiver.recv(4096).decode() == (
            "STATUS=not ready; the source has not been reached yet; "
            "Kafka has not been reached yet; the stream is not open yet"
        )
        figures.begin_run()
        figures.kafka.answer()
        (*_, status) = heard(receiver, "STATUS=")
        assert status.startswith("STATUS=ready; ")
        # The same is not told again.
        assert heard(receiver, "WATCHDOG=1")[-1] == "WATCHDOG=1"
        assert heard(receiver, "WATCHDOG=1") == ["WATCHDOG=1"]


def test_the_watchdog_is_fed_only_while_the_main_loop_turns(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    figures = PipelineMetrics("p", turn_seconds_max=60.0)
    figures.turned_at = time.monotonic() - 100
    with (
        listening(address) as receiver,
        systemd_notifications(figures, {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "100000"}),
    ):
        heard(receiver, "STATUS=")
        receiver.settimeout(0.5)
        with pytest.raises(TimeoutError):
            receiver.recv(4096)
        figures.turn()
        receiver.settimeout(10)
        assert receiver.recv(4096) == b"WATCHDOG=1"


def test_the_watchdog_of_another_process_is_not_fed(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    figures = PipelineMetrics("p", turn_seconds_max=60.0)
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}
    with listening(address) as receiver, systemd_notifications(figures, environment):
        heard(receiver, "STATUS=")
        receiver.settimeout(0.5)
        with pytest.raises(TimeoutError):
            receiver.recv(4096)


def test_a_socket_that_is_gone_harms_nothing(tmp_path: Path) -> None:
    with systemd_notifications(PipelineMetrics("p"), {"NOTIFY_SOCKET": str(tmp_path / "absent")}):
        time.sleep(0.1)
    with systemd_notifications(PipelineMetrics("p"), {}):
        assert not (tmp_path / "absent").exists()


def test_the_unit_restarts_what_a_restart_can_help() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text("utf-8"))
    service = unit["Service"]
    assert service["Type"] == "notify"
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == f"{EXIT_CONFIG} {EXIT_DEFINITE}"
    # A clean stop may take 30 seconds.
    assert int(service["TimeoutStopSec"]) > 30
    assert int(service["WatchdogSec"]) > 0
    assert re.fullmatch(r"\S+/binlog-connector run \S+", service["ExecStart"])
    variable, _, file = service["Environment"].partition("=")
    assert variable == Settings.variable("source.password_file")
    assert file == f"%d/{service['LoadCredential'].partition(':')[0]}"
