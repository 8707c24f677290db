"""The data: one MySQL server that has executed every workload, kept with its binlogs.

Each workload fills a binlog file of its own. Decoders read the files where the server left them;
connectors are sent them by the server. The counts of rows do not depend on the machine, GTIDs and
times do.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from benchmarks.process import say
from benchmarks.workload.generate import WORKLOADS, Counts
from benchmarks.workload.session import session
from benchmarks.workload.tables import schema
from local_stack import MysqlServer

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.home import Home

VERSION = "9"
SETTINGS = {
    "innodb_buffer_pool_size": "1G",
    "innodb_redo_log_capacity": "1G",
    "max_binlog_size": "1G",
    "max_allowed_packet": "64M",
    "binlog_checksum": "CRC32",
    # The data are never too old.
    "binlog_expire_logs_seconds": "0",
}
_DONE = "data of scale {scale:g}: {files} files, {megabytes:.0f} MB, in {seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A binlog file and what one workload has put there."""

    workload: str
    path: Path
    bytes: int
    counts: Counts

    @property
    def megabytes(self) -> float:
        """Its size."""
        return self.bytes / 1e6


def source_server(home: Home) -> MysqlServer:
    """Return the server of the data, not started."""
    return MysqlServer(home.folder("source"), version=VERSION, settings=SETTINGS)


def load_data(home: Home) -> dict[str, DataFile]:
    """Return the files by workload; those that are missing are generated first."""
    if not home.manifest.exists():
        _generate(home)
    document = json.loads(home.manifest.read_text())
    return {
        name: DataFile(
            name,
            home.folder("source") / "data" / entry["file"],
            entry["bytes"],
            Counts(**entry["counts"]),
        )
        for name, entry in document.items()
    }


def _generate(home: Home) -> None:
    shutil.rmtree(home.folder("source"))
    started = time.monotonic()
    manifest = {}
    with source_server(home) as server, session(server.endpoint) as connection:
        connection.execute(*schema(), "FLUSH BINARY LOGS")
        for name, workload in WORKLOADS.items():
            say(f"generating {name}")
            counts = workload.generate(connection, workload.size(home.scale))
            file, size, *_ = connection.rows("SHOW BINARY LOGS")[-1]
            manifest[name] = {"file": file, "bytes": size, "counts": asdict(counts)}
            connection.execute("FLUSH BINARY LOGS")
    home.manifest.write_text(json.dumps(manifest, indent=1) + "\n")
    megabytes = sum(file.bytes for file in load_data(home).values()) / 1e6
    seconds = time.monotonic() - started
    say(_DONE.format(scale=home.scale, files=len(manifest), megabytes=megabytes, seconds=seconds))
