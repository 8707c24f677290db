"""A private Kafka broker that is its own controller (KRaft), and a schema registry beside it.

::

    DIRECTORY of the broker
    ├── data/              topics; formatted before the first start
    ├── server.properties  written at each start
    ├── server.log         what the broker writes, over all starts
    ├── port               the port of its clients, since the first start
    └── controller_port    the port of its controller, since the first start

    DIRECTORY of the registry
    ├── server.log  what the registry writes, over all starts
    └── port        the port of its clients, since the first start

The registry is Apicurio Registry, in memory, with Confluent's interface.

https://kafka.apache.org/43/configuration/broker-configs/
https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/
"""

import base64
import os
import shutil
import socket
import subprocess
import tarfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from connector.foundation.class_archive import shared_classes, written_at_exit
from local_stack import stack_errors
from local_stack.cache import Cache
from local_stack.download import Artifact, fetch
from local_stack.java import java_runtime
from local_stack.kafka_jars import KAFKA_JARS, KAFKA_VERSION
from local_stack.package_repositories import fetch_jars, repository
from local_stack.process import log_tail
from local_stack.server import HOST, Endpoint, ManagedServer, free_port
from local_stack.stack_errors import LocalStackError

# One broker, so one replica of each partition; small, and fast to start and stop.
BROKER_SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # After a SIGKILL, the broker waits until its earlier session ends: 9 s by default. On a machine
    # whose cores are all busy, a heartbeat can come two seconds late, and nothing is led then.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "500",
    # An idle broker of one controller would write to its metadata twice a second.
    "metadata.max.idle.interval.ms": "0",
    # By default, a partition has two mapped files of 10 MB. A disk that reads ahead fills the page
    # cache with their zeros, and a transaction in a thousand partitions takes seconds to end.
    "log.index.size.max.bytes": "262144",
    # Records of a test may have times of years ago.
    "log.retention.ms": "-1",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.cleaner.threads": "1",
    "num.network.threads": "2",
    "num.io.threads": "2",
}
SMALL_MEMORY = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
JVM_OPTIONS = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)
# The first records of a controller's log: which features its cluster has.
_FEATURES = "bootstrap.checkpoint"


class KafkaBroker(ManagedServer):
    """A private Kafka broker in one folder, without users and encryption."""

    name = f"Kafka {KAFKA_VERSION}"
    port_taken = "Address already in use"

    def __init__(
        self,
        directory: Path,
        *,
        java: Path | None = None,
        settings: Mapping[str, str | None] | None = None,
        memory: Sequence[str] = SMALL_MEMORY,
        cache: Cache | None = None,
    ) -> None:
        """Serve `directory`, with this `java` or the one that `java_runtime` finds.

        `settings` replace those of the broker, by their names in server.properties; None removes
        one. `memory` are the options of the Java virtual machine about memory and speed.
        """
        super().__init__(directory)
        self._java = java
        self._memory = tuple(memory)
        self._settings = dict(settings or {})
        self._cache = cache or Cache.of_environment()
        self._jars: list[Path] = []
        # The archive of classes that the process writes if it is stopped.
        self._archives: list[Path] = []

    def stop(self) -> None:
        super().stop()
        self._archives.clear()

    def kill(self) -> None:
        super().kill()
        # Another broker may write it then.
        for archive in self._archives:
            archive.unlink(missing_ok=True)
        self._archives.clear()

    def _prepare(self) -> None:
        if self._java is None:
            self._java = java_runtime(self._cache)
        self._jars = fetch_jars(self.name, KAFKA_JARS, self._cache)
        # The folder of the topics may be a link to another disk.
        data = (self.directory / "data").resolve()
        if not data.exists():
            self._format(data)

    def _command(self, port: int) -> list[str]:
        properties = self._write_properties(port)
        classes = self._shared_classes(writes=True)
        self._archives = written_at_exit(classes)
        options = (*self._memory, *JVM_OPTIONS, *classes)
        return [*self._call(*options), "kafka.Kafka", str(properties)]

    def _reach(self, port: int) -> Endpoint | None:
        endpoint = Endpoint(HOST, port)
        return endpoint if broker_answers(endpoint) else None

    def _call(self, *options: str) -> list[str]:
        return [str(self._java), *options, "-cp", os.pathsep.join(map(str, self._jars))]

    def _shared_classes(self, *, writes: bool) -> tuple[str, ...]:
        assert self._java is not None
        return shared_classes("kafka", self._java, self._jars, self._cache.classes, writes=writes)

    def _write_properties(self, port: int) -> Path:
        path = self.directory / "server.properties"
        _write(path, _settings_at(self.directory, port, self._controller_port()) | self._settings)
        return path

    def _controller_port(self) -> int:
        """Return the controller's port from the formatted data, or choose one."""
        kept = self.directory / "controller_port"
        if not kept.exists():
            kept.write_text(str(free_port()))
        return int(kept.read_text())

    def _format(self, data: Path) -> None:
        """Make the folder of a new broker; Kafka's own program takes a second for it."""
        template = self._cache.folder(f"templates/kafka-{KAFKA_VERSION}", self._fill_template)
        unfinished = data.with_name(f"{data.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        shutil.copy(template / "data" / _FEATURES, unfinished)
        node = self._settings.get("node.id") or BROKER_SETTINGS["node.id"]
        about = {"version": "1", "node.id": node, "directory.id": new_id()}
        about["cluster.id"] = self._cluster_id()
        _write(unfinished / "meta.properties", about)
        unfinished.rename(data)

    def _cluster_id(self) -> str:
        return new_id()

    def _fill_template(self, folder: Path) -> None:
        properties, data = folder / "server.properties", folder / "data"
        # The ports do not matter.
        _write(properties, _settings_at(folder, 2, 1))
        options = ("-Xmx64m", "-XX:TieredStopAtLevel=1", *self._shared_classes(writes=False))
        command = [*self._call(*options), "kafka.tools.StorageTool", "format"]
        command += [f"--cluster-id={new_id()}", "-c", str(properties)]
        log = self.log
        with log.open("ab") as output:
            run = subprocess.run(  # noqa: S603 - the java that was found, our own arguments
                command, stdout=output, stderr=output, check=False
            )
        if run.returncode:
            raise LocalStackError(
                stack_errors.NO_FORMAT, server=self.name, data=data, log=log, tail=log_tail(log)
            )


def _settings_at(directory: Path, port: int, controller: int) -> dict[str, str | None]:
    """Return the settings of a broker in `directory`, with its two ports."""
    return {
        **BROKER_SETTINGS,
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "log.dir": str(directory / "data"),
    }


def _write(properties: Path, values: Mapping[str, str | None]) -> None:
    """Write a file of properties, without those that are None."""
    lines = [f"{name}={value}\n" for name, value in values.items() if value is not None]
    properties.write_text("".join(lines))


def new_id() -> str:
    """Return a random id in the form of Kafka: 16 bytes in Base64, which do not begin with `-`."""
    while (text := base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()).startswith("-"):
        continue
    return text


def broker_answers(endpoint: Endpoint) -> bool:
    """Return whether a broker serves `endpoint`: its port opens before it knows its controller."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=1).close()
        admin = KafkaAdminClient(
            bootstrap_servers=endpoint.bootstrap,
            request_timeout_ms=2000,
            reconnect_backoff_max_ms=200,
        )
    except (OSError, KafkaError):
        return False
    try:
        admin.list_topics()
    except KafkaError:
        return False
    finally:
        admin.close()
    return True


_VERSION: Final = "2.6.13.Final"
_PATH: Final = (
    f"io/apicurio/apicurio-registry-app/{_VERSION}/apicurio-registry-app-{_VERSION}-all.tar.gz"
)
_BYTES: Final = 142_198_683
_SHA256: Final = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"
_CONFLUENT: Final = "/apis/ccompat/v7"


class SchemaRegistryServer(ManagedServer):
    """A private registry in one folder; a stop forgets all schemas."""

    name = f"Apicurio Registry {_VERSION}"
    port_taken = "already in use"

    def __init__(self, directory: Path, cache: Cache | None = None) -> None:
        """Keep the log in `directory`."""
        super().__init__(directory)
        self._cache = cache or Cache.of_environment()

    @property
    def url(self) -> str:
        """The URL for clients of Confluent's registry."""
        return f"http://{self.endpoint.host}:{self.endpoint.port}{_CONFLUENT}"

    def _prepare(self) -> None:
        self._cache.folder(f"servers/apicurio-{_VERSION}", self._unpack)

    def _unpack(self, folder: Path) -> None:
        artifact = Artifact(f"{repository()}/{_PATH}", f"maven/{_PATH}", _BYTES, _SHA256)
        (archive,) = fetch(self.name, [artifact], self._cache)
        with tarfile.open(archive) as tarball:
            tarball.extractall(folder, filter="data")
        # It is as large as what was unpacked, and not needed again.
        archive.unlink()

    def _command(self, port: int) -> list[str]:
        folder = self._cache.directory / f"servers/apicurio-{_VERSION}"
        return [
            str(java_runtime(self._cache)),
            *SMALL_MEMORY,
            f"-Dquarkus.http.host={HOST}",
            f"-Dquarkus.http.port={port}",
            "-jar",
            str(folder / f"apicurio-registry-app-{_VERSION}-runner.jar"),
        ]

    def _reach(self, port: int) -> Endpoint | None:
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}{_CONFLUENT}/subjects", timeout=1).close()
        except OSError:
            return None
        return Endpoint(HOST, port)
