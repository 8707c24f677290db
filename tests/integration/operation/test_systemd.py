"""A process that systemd has started tells it how it is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def test_a_running_pipeline_is_ready_tells_its_state_and_feeds_the_watchdog(
    stream: Stream, tmp_path: Path
) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(address))
        receiver.settimeout(60)
        connector = stream.connector()
        connector.environment = {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "400000"}
        with connector:
            assert receiver.recv(4096) == b"READY=1"
            messages: list[bytes] = []
            while not any(each.startswith(b"STATUS=ready; ") for each in messages):
                messages.append(receiver.recv(4096))
            assert b"WATCHDOG=1" in messages
            assert connector.terminate() == 0
