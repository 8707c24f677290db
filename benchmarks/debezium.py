"""Debezium on Kafka Connect, standalone, driven through its REST interface.

A connector that is to start at a given file of the log needs the schema that the tables had there.
Debezium learns it from a snapshot without data; what it wrote down is then given to every run, as
if it had been seen at the start of the log, and the offset is set through the REST interface.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
https://kafka.apache.org/documentation/#connect_rest
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from benchmarks.connectors import Connector
from benchmarks.process import RunFailed, start
from benchmarks.stack import PASSWORD, USER
from benchmarks.workload.session import session
from local_stack.java import java_runtime
from local_stack.server import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.stack import Stack

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.05
_SERVER_ID = 5701
# Heap and collector as in Kafka's own start scripts of Connect.
MEMORY = (
    "-Xms256M",
    "-Xmx2G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
_JSON = "org.apache.kafka.connect.json.JsonConverter"
# JSON without a schema in every message, and a source without TLS, as the other programs have it.
FAIR = {
    "key.converter": _JSON,
    "value.converter": _JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "database.ssl.mode": "disabled",
    "driver.allowPublicKeyRetrieval": "true",
}
TUNED = {
    **FAIR,
    "max.batch.size": "16384",
    "max.queue.size": "131072",
    "poll.interval.ms": "50",
    "producer.override.linger.ms": "20",
    "producer.override.batch.size": "524288",
    "producer.override.compression.type": "lz4",
    "producer.override.buffer.memory": "134217728",
    "producer.override.max.request.size": "2097152",
}
# Without locks, as ours reads; the driver streams the rows, which no fetch size makes faster.
SNAPSHOT = {
    **TUNED,
    "snapshot.locking.mode": "none",
    "snapshot.max.threads": "2",
}
# What the connector of MariaDB has otherwise.
MARIADB = {
    "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
    "database.ssl.mode": "disable",
}
LOW_LATENCY = {**FAIR, "poll.interval.ms": "1", "producer.override.linger.ms": "0"}


class DebeziumConnector(Connector):
    """One connector in a Connect process of its own."""

    tombstones = True

    def __init__(
        self, stack: Stack, prefix: str, database: str, class_path: str, settings: dict[str, str]
    ) -> None:
        """Run the jars of `class_path` with `settings`."""
        super().__init__("Debezium on Kafka Connect", stack, prefix, database)
        self._class_path = class_path
        self._settings = settings
        self._offsets = self.folder / f"{prefix}.offsets"
        self._history = self.folder / f"{prefix}.history"
        self._prefixes = [prefix]
        self._rest = f"http://{HOST}:{free_port()}"

    def start(self, file: str, *, again: bool = False) -> None:
        """Start Connect and the connector; return when it says that it runs."""
        if not again:
            self._offsets.unlink(missing_ok=True)
            self._history.write_text(self._known_schema())
        self._start_worker()
        config = self._config()
        if again:
            self._call("POST", "/connectors", {"name": self.prefix, "config": config})
        else:
            stopped = {"name": self.prefix, "config": config, "initial_state": "STOPPED"}
            self._call("POST", "/connectors", stopped)
            self._wait_until("STOPPED")
            offset = {"file": file, "pos": 4, "gtids": self.stack.gtids_before(file)}
            entry = {"partition": {"server": self.prefix}, "offset": offset}
            self._call("PATCH", f"/connectors/{self.prefix}/offsets", {"offsets": [entry]})
            self._call("PUT", f"/connectors/{self.prefix}/resume")
        self._wait_until("RUNNING")

    def copy(self, table: str, beside: Mapping[str, dict[str, str]] | None = None) -> None:
        """Start Connect and the connector; it copies `table`, and follows it.

        `beside` has the settings of further connectors in the same process, by their prefixes.
        """
        self._offsets.unlink(missing_ok=True)
        self._start_worker()
        self._prefixes = [self.prefix, *(beside or {})]
        for number, prefix in enumerate(self._prefixes):
            history = self.folder / f"{prefix}.history"
            history.unlink(missing_ok=True)
            config = {
                **self._config(),
                "snapshot.mode": "initial",
                "table.include.list": table,
                "topic.prefix": prefix,
                "database.server.id": str(_SERVER_ID + number),
                "schema.history.internal.file.filename": str(history),
                **(beside or {}).get(prefix, {}),
            }
            self._call("POST", "/connectors", {"name": prefix, "config": config})
            self._wait_until("RUNNING", prefix)

    def check(self) -> None:
        """Raise RunFailed when Connect has ended, or a connector has failed."""
        super().check()
        for prefix in self._prefixes:
            for task in self._status(prefix)["tasks"]:
                if task["state"] == "FAILED":
                    reason = f"{prefix}: {task['trace']}"
                    raise RunFailed(reason)

    def _known_schema(self) -> str:
        template = self.folder / f"debezium-{self.database}.history"
        if not template.exists():
            self._take_schema(template)
        return template.read_text().replace('"template"', f'"{self.prefix}"')

    def _take_schema(self, template: Path) -> None:
        with session(self.stack.source) as connection:
            tables = len(connection.rows(f"SHOW TABLES IN {self.database}"))
        prefix, self.prefix = self.prefix, "template"
        self._history.unlink(missing_ok=True)
        try:
            self._start_worker()
            self._call("POST", "/connectors", {"name": self.prefix, "config": self._config()})
            self._wait_until("RUNNING")
            self._wait(lambda: self._tables_seen() >= tables)
            # As if it had been seen at the very start of the log.
            records = [json.loads(line) for line in self._history.read_text().splitlines()]
            for record in records:
                position = {"ts_sec": 1, "file": "binlog.000001", "pos": 4, "snapshot": True}
                record["position"] = position
            template.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        finally:
            self.stop()
            self.prefix = prefix
            self._offsets.unlink(missing_ok=True)

    def _tables_seen(self) -> int:
        return self._history.read_text().count("CREATE TABLE") if self._history.exists() else 0

    def _config(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "tasks.max": "1",
            "database.hostname": self.stack.source.host,
            "database.port": str(self.stack.source.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.server.id": str(_SERVER_ID),
            "database.include.list": self.database,
            "topic.prefix": self.prefix,
            "snapshot.mode": "no_data",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(self._history),
            "schema.history.internal.store.only.captured.databases.ddl": "true",
            **self._settings,
        }

    def _start_worker(self) -> None:
        properties = self.folder / f"{self.prefix}.properties"
        settings = {
            "bootstrap.servers": self.stack.bootstrap,
            "key.converter": _JSON,
            "value.converter": _JSON,
            "offset.storage.file.filename": str(self._offsets),
            "offset.flush.interval.ms": "5000",
            "listeners": self._rest,
        }
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        java = str(java_runtime(self.stack.home.cache))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        command = [java, *MEMORY, quiet, "-cp", self._class_path, main, str(properties)]
        self._process = start(command, self.log)
        self._wait(self._answers)

    def _answers(self) -> bool:
        super().check()
        try:
            self._call("GET", "/connectors")
        except OSError:
            return False
        return True

    def _status(self, prefix: str) -> Any:
        return self._call("GET", f"/connectors/{prefix}/status")

    def _wait_until(self, state: str, prefix: str = "") -> None:
        def reached() -> bool:
            try:
                status = self._status(prefix or self.prefix)
            except urllib.error.HTTPError:
                return False  # not known yet
            tasks = status["tasks"]
            for task in tasks:
                if task["state"] == "FAILED":
                    raise RunFailed(task["trace"])
            states = {status["connector"]["state"], *(task["state"] for task in tasks)}
            return states == {state} and bool(tasks or state == "STOPPED")

        self._wait(reached)

    def _wait(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                reason = f"{self.name} is not ready after {PATIENCE_SECONDS:g} s, see {self.log}"
                raise RunFailed(reason)
            time.sleep(LOOK_SECONDS)

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._rest + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            text = answer.read()
        return json.loads(text) if text else None
