"""The programs that carry a server's changes to Kafka, started and stopped alike."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from benchmarks.process import RunFailed, start, stop
from benchmarks.stack import PASSWORD, USER

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from benchmarks.stack import Stack


class Connector(ABC):
    """A program that follows one database of the source."""

    # Whether a record without a value follows each delete.
    tombstones = False

    def __init__(self, name: str, stack: Stack, prefix: str, database: str) -> None:
        """Follow `database`, into topics that start with `prefix`."""
        self.name = name
        self.stack = stack
        self.prefix = prefix
        self.database = database
        self.folder: Path = stack.home.folder("runs")
        self.log = self.folder / f"{prefix}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process that is measured."""
        assert self._process is not None
        return self._process.pid

    @abstractmethod
    def start(self, file: str, *, again: bool = False) -> None:
        """Start at the beginning of binlog `file`; `again` where it stood when it was stopped."""

    def topics(self, tables: Sequence[str]) -> list[str]:
        """Return the topics of tables."""
        return [f"{self.prefix}.{table}" for table in tables]

    def check(self) -> None:
        """Raise RunFailed when the program has ended."""
        if self._process is not None and self._process.poll() is not None:
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])
            reason = f"{self.name} ended with {self._process.returncode}, {self.log} says\n{end}"
            raise RunFailed(reason)

    def stop(self) -> None:
        """Stop it where it runs."""
        if self._process is not None:
            stop(self._process)
            self._process = None


class OurConnector(Connector):
    """`binlog-connector run` with the defaults of its configuration."""

    tombstones = True

    def __init__(
        self,
        stack: Stack,
        prefix: str,
        database: str,
        compiled: Literal["require", "off"],
        settings: str = "",
        log: Path | None = None,
    ) -> None:
        """Run compiled or interpreted, with further sections of the configuration.

        `log` is a folder for the log, in the place of the broker.
        """
        super().__init__("binlog-connector", stack, prefix, database)
        self.bootstrap = stack.bootstrap if log is None else log.as_uri()
        self._compiled = compiled
        self._settings = settings

    def start(self, file: str, *, again: bool = False) -> None:
        """Start the daemon; its progress is in Kafka."""
        del again
        self._run(f"position:{file}:4", f"{self.database}.*")

    @property
    def config(self) -> Path:
        """Its configuration, from its start on."""
        return self.folder / f"{self.prefix}.toml"

    def copy(self, table: str) -> None:
        """Start the daemon without progress; it copies `table`, and follows it."""
        self._run("snapshot", table)

    def _run(self, begin: str, tables: str) -> None:
        source = self.stack.source
        text = f"""\
name = "{self.prefix}"
[source]
host = "{source.host}"
port = {source.port}
user = "{USER}"
password = "{PASSWORD}"
server_id = 5800
tables = ["{tables}"]
start = "{begin}"
[source.tls]
mode = "disabled"
get_server_public_key = true
[kafka]
bootstrap_servers = {json.dumps([self.bootstrap])}
topic_prefix = "{self.prefix}"
{self._settings}"""
        self.config.write_text(text)
        command = [sys.executable, "-m", "connector", "run", str(self.config)]
        self._process = start(command, self.log, CONNECTOR_COMPILED=self._compiled)


class GoConnector(Connector):
    """go-mysql and franz-go; knows no checkpoint, so that it starts again at the file's start."""

    def __init__(
        self, stack: Stack, prefix: str, database: str, program: Path, *, linger_ms: int
    ) -> None:
        """Run `program`, which is built from `rivals/go/stream`."""
        super().__init__("go-mysql + franz-go", stack, prefix, database)
        self._program = program
        self._linger_ms = linger_ms

    def start(self, file: str, *, again: bool = False) -> None:
        del again
        options = {
            "kafka": self.stack.bootstrap,
            "port": self.stack.source.port,
            "user": USER,
            "password": PASSWORD,
            "prefix": self.prefix,
            "schema": self.database,
            "file": file,
            "compress": "lz4",
            "linger": f"{self._linger_ms}ms",
        }
        command = [str(self._program), *(f"-{name}={value}" for name, value in options.items())]
        self._process = start(command, self.log)
