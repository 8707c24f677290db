"""A sink in a standalone worker of Kafka Connect, until it has read topics to their ends.

https://kafka.apache.org/documentation/#connect_running
"""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Self

from kafka import KafkaConsumer, TopicPartition

from benchmarks.debezium import MEMORY
from benchmarks.process import start, stop
from local_stack.java import java_runtime
from local_stack.server import HOST, free_port
from tests.debezium.clients.servers import LOOK_SECONDS, PATIENCE_SECONDS
from tests.debezium.option_sets import registry_options

if TYPE_CHECKING:
    import subprocess

    from tests.debezium.clients.servers import Servers

JSON = "org.apache.kafka.connect.json.JsonConverter"
_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"


class Sink:
    """One sink connector, in a process of its own."""

    def __init__(
        self, servers: Servers, name: str, class_path: str, settings: dict[str, str]
    ) -> None:
        """Run the jars of `class_path` with the properties `settings` of the connector."""
        self._servers = servers
        self._name = name
        self._class_path = class_path
        self._settings = {"name": name, "tasks.max": "1", **settings}
        self._log = servers.folder / f"{name}.sink.log"
        self._rest = f"http://{HOST}:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start it, or start it again where it has stopped."""
        worker = self._write(
            "worker",
            {
                "bootstrap.servers": self._servers.broker.bootstrap,
                "key.converter": JSON,
                "value.converter": JSON,
                "offset.storage.file.filename": str(self._servers.folder / f"{self._name}.offsets"),
                "offset.flush.interval.ms": "500",
                # The default reads the headers of a key change as maps, which a sink refuses.
                "header.converter": "org.apache.kafka.connect.storage.StringConverter",
                "listeners": self._rest,
                "consumer.isolation.level": "read_committed",
                "consumer.auto.offset.reset": "earliest",
            },
        )
        self._process = start(
            [
                str(java_runtime(self._servers.home.cache)),
                *MEMORY,
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                self._class_path,
                "org.apache.kafka.connect.cli.ConnectStandalone",
                worker,
                self._write("connector", self._settings),
            ],
            self._log,
        )

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        stop(self._process)

    def kill(self) -> None:
        """End it as the kernel would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self, seconds: float) -> None:
        """Let it stand still."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def wait_for_end(self, topics: list[str]) -> int:
        """Wait until the sink has committed the offsets of all records; return how many.

        Raises RuntimeError if the sink fails, TimeoutError if it does not come to the end.
        """
        records = [each for topic in topics for each in self._servers.records(topic)]
        last = {(each.topic, each.partition): each.offset for each in records}
        deadline = time.monotonic() + PATIENCE_SECONDS
        with closing(
            KafkaConsumer(
                bootstrap_servers=self._servers.broker.bootstrap,
                group_id=f"connect-{self._name}",
                enable_auto_commit=False,
            )
        ) as group:
            while any(
                (group.committed(TopicPartition(*partition)) or 0) <= offset
                for partition, offset in last.items()
            ):
                self.check()
                if time.monotonic() > deadline:
                    message = f"{self._name} does not reach the end, see {self._log}"
                    raise TimeoutError(message)
                time.sleep(LOOK_SECONDS)
        self.check()
        return len(records)

    def check(self) -> None:
        """Raise RuntimeError when the worker has ended, or the sink has failed."""
        assert self._process is not None
        if self._process.poll() is not None:
            message = f"{self._name} ended: {self._log.read_text()[-3000:]}"
            raise RuntimeError(message)
        for task in self._tasks():
            if task["state"] == "FAILED":
                raise RuntimeError(task["trace"])

    def _tasks(self) -> list[dict[str, str]]:
        address = f"{self._rest}/connectors/{self._name}/status"
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
                tasks: list[dict[str, str]] = json.load(answer)["tasks"]
        except OSError:
            return []  # not started yet
        return tasks

    def _write(self, what: str, settings: dict[str, str]) -> str:
        path = self._servers.folder / f"{self._name}.{what}.properties"
        path.touch(mode=0o600)  # it may hold a password
        lines = (f"{key}={value}\n".replace("\\", "\\\\") for key, value in settings.items())
        path.write_text("".join(lines))
        return str(path)


def converters(servers: Servers, *, avro: bool, schemas: bool = True) -> dict[str, str]:
    """Return the properties that read keys and values, and JSON with or without schemas."""
    if not avro:
        return {
            f"{part}.converter{name}": value
            for part in ("key", "value")
            for name, value in (("", JSON), (".schemas.enable", str(schemas).lower()))
        }
    address = servers.registry.endpoint
    return {
        "key.converter": _AVRO,
        "value.converter": _AVRO,
        **registry_options(f"http://{address.host}:{address.port}"),
    }
