"""HDFS on this machine: Hadoop's namenode and a datanode, on ports of 127.0.0.1.

Hadoop's classes for clients are those of PySpark; one more jar has those of the servers.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from local_stack import java_runtime
from local_stack.cache import Cache
from local_stack.package_repositories import Jar, fetch_jars
from local_stack.process import GuardedProcess, log_tail
from local_stack.server import free_port

# The version of the jars of PySpark.
SERVERS = Jar(
    "org.apache.hadoop",
    "hadoop-client-minicluster",
    "3.5.0",
    56006450,
    "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
)
_OPTIONS = ("-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SERVER = "org.apache.hadoop.hdfs.server"
_START_SECONDS = 120.0


class HdfsServer:
    """A file system with one copy of each block, and without passwords."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        cache = Cache.of_environment()
        self._java = java_runtime(cache)
        package = find_spec("pyspark")
        assert package is not None
        assert package.origin is not None
        jars = Path(package.origin).parent / "jars"
        own = fetch_jars("Hadoop's servers", [SERVERS], cache)
        names = ("hadoop-client", "slf4j-api", "log4j", "jcl", "commons", "javax.servlet-api")
        found = [*own, *(jar for name in names for jar in sorted(jars.glob(f"{name}-*.jar")))]
        self._class_path = os.pathsep.join(str(jar) for jar in found)
        self._port, self._rpc_port = free_port(), free_port()
        self._processes: list[GuardedProcess] = []

    @property
    def host(self) -> str:
        """The address of the namenode for WebHDFS."""
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The address of the namenode for programs in Java."""
        return f"hdfs://127.0.0.1:{self._rpc_port}"

    def start(self) -> Self:
        """Return when files can be written."""
        self.directory.mkdir(parents=True, exist_ok=True)
        name = f"{_SERVER}.namenode.NameNode"
        if not (self.directory / "name").exists():
            self._configure()
            command = [*self._command(name), "-format", "-nonInteractive"]
            subprocess.run(command, capture_output=True, check=True)
        for kind, class_name in (
            ("namenode", name),
            ("datanode", f"{_SERVER}.datanode.DataNode"),
        ):
            log = self.directory / f"{kind}.log"
            self._processes.append(GuardedProcess(self._command(class_name), log, os.environ))
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, [log_tail(each.log) for each in self._processes]
            assert all(each.is_running for each in self._processes)
            time.sleep(0.1)
        return self

    def kill(self) -> None:
        """End it at once; the files stay."""
        for process in self._processes:
            process.kill()
        self._processes.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()

    def _command(self, class_name: str) -> list[str]:
        java = [str(self._java), *_OPTIONS, "-cp", self._class_path]
        return [*java, class_name, "-conf", str(self.directory / "hdfs.xml")]

    def _is_ready(self) -> bool:
        """Return whether the namenode would send a new file to the datanode."""
        asked = "op=CREATE&noredirect=true&user.name=test"
        request = urllib.request.Request(
            f"http://{self.host}/webhdfs/v1/ready?{asked}", method="PUT"
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _configure(self) -> None:
        folder = self.directory
        settings = {
            "fs.defaultFS": self.url,
            "dfs.namenode.name.dir": f"file://{folder}/name",
            "dfs.datanode.data.dir": f"file://{folder}/data",
            "dfs.namenode.http-address": self.host,
            "dfs.datanode.address": f"127.0.0.1:{free_port()}",
            "dfs.datanode.http.address": f"127.0.0.1:{free_port()}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{free_port()}",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.replication": "1",
            "dfs.namenode.safemode.extension": "0",
        }
        lines = [
            f"<property><name>{key}</name><value>{value}</value></property>\n"
            for key, value in settings.items()
        ]
        text = f"<configuration>\n{''.join(lines)}</configuration>\n"
        (folder / "hdfs.xml").write_text(text, encoding="utf-8")
