"""A second process with the same name: the first thing that the older one says is who took over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.harness import ConnectorProcess, failure_of

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


class Load:
    """Rows, one by one, until the end of the block."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._thread.join()

    def _write(self) -> None:
        with (
            connect(self._stream.source, self._stream.database) as connection,
            connection.cursor() as cursor,
        ):
            while not self._ends.is_set():
                cursor.execute("INSERT INTO t (v) VALUES ('w')")


class Idle(Load):
    """No rows."""

    def _write(self) -> None:
        return


@pytest.mark.parametrize("traffic", [Idle, Load])
def test_the_older_process_says_first_who_took_over(
    either_stream: Stream, traffic: type[Load]
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(9))",
        "INSERT INTO t (v) VALUES ('a')",
    )
    with stream.connector() as first:
        stream.wait_for_changes(1, first)
        second_config = first.config.with_name("second.toml")
        second_config.write_text(first.config.read_text())
        with traffic(stream), ConnectorProcess(second_config) as second:
            second.wait_for('"message": "streaming"')
            assert first.wait() == 3
            assert second.process is not None
            warnings = [
                line for line in first.output().splitlines() if '"log.level": "info"' not in line
            ]
            assert (
                f"pipeline {stream.prefix}: another instance took over "
                f"(process {second.process.pid} on "
            ) in failure_of(warnings[0])
            assert "interrupted" not in second.output()
            assert second.terminate() == 0
