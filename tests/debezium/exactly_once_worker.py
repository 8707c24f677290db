"""Debezium in a distributed worker of Kafka Connect, which writes exactly once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.debezium import MEMORY, DebeziumConnector
from benchmarks.process import start
from local_stack.java import java_runtime

if TYPE_CHECKING:
    from benchmarks.stack import Stack

_JSON = "org.apache.kafka.connect.json.JsonConverter"


class ExactlyOnceWorker(DebeziumConnector):
    """One connector in a distributed worker, which writes exactly once."""

    def __init__(
        self, stack: Stack, name: str, class_path: str, settings: dict[str, str], server_id: int
    ) -> None:
        super().__init__(stack, name, name, class_path, settings)
        self._server_id = server_id

    def follow(self) -> None:
        """Start the worker and the connector, without a snapshot."""
        self._history.unlink(missing_ok=True)
        self._start_worker()
        self._call("POST", "/connectors", {"name": self.prefix, "config": self._config()})
        self._wait_until("RUNNING")

    def stop_connector(self) -> None:
        """Stop the connector as its operator would."""
        self._call("PUT", f"/connectors/{self.prefix}/stop")
        self._wait_until("STOPPED")

    def go_on_after(self, offset: dict[str, object]) -> None:
        """Let the stopped connector go on at an offset."""
        entry = {"partition": {"server": self.prefix}, "offset": offset}
        self._call("PATCH", f"/connectors/{self.prefix}/offsets", {"offsets": [entry]})
        self._call("PUT", f"/connectors/{self.prefix}/resume")
        self._wait_until("RUNNING")

    def kill(self) -> None:
        """End the worker as the kernel would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def json(self) -> str:
        """Return what GET /connectors/NAME answers."""
        return json.dumps({"name": self.prefix, "config": self._config()})

    def _config(self) -> dict[str, str]:
        return super()._config() | {"database.server.id": str(self._server_id)}

    def _start_worker(self) -> None:
        names = {
            f"{topic}.storage.topic": f"connect-{topic}-{self.prefix}"
            for topic in ("config", "offset", "status")
        }
        settings = {
            "bootstrap.servers": self.stack.bootstrap,
            "group.id": f"connect-{self.prefix}",
            "key.converter": _JSON,
            "value.converter": _JSON,
            "exactly.once.source.support": "enabled",
            "offset.storage.partitions": "3",
            "listeners": self._rest,
            **names,
            **{
                f"{topic}.storage.replication.factor": "1"
                for topic in ("config", "offset", "status")
            },
        }
        properties = self.folder / f"{self.prefix}.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        java = str(java_runtime(self.stack.home.cache))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = [java, *MEMORY, quiet, "-cp", self._class_path, main_class, str(properties)]
        self._process = start(command, self.log)
        self._wait(self._answers)
