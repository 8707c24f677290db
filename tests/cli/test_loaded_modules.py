"""What a command does not need is not imported: it would take memory and time at each start."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.application import commands

LOG = Path(__file__).parents[1] / "golden" / "files" / "mysql-8.0.31" / "checksums.000001"
# What `run` imports before it reads its configuration.
DAEMON = "from connector.cli.commands import function_of; function_of(['run'])"


def loaded_by(*arguments: str) -> set[str]:
    """Return the names of the modules that Python imports when it runs with `arguments`."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"^import time: +\d+ \| +\d+ \| +(\S+)$", done.stderr, re.MULTILINE)
    return {name for whole in found for name in (whole, whole.partition(".")[0])}


def test_the_daemon_loads_only_what_every_pipeline_needs() -> None:
    loaded = loaded_by("-c", DAEMON)
    assert {"connector.stream.run.supervisor", "kafka", "pydantic"} <= loaded
    # For terminals, conditions, encrypted passwords, and a server of metrics.
    # An import that fails is in the list, too: only the rest of a package shows that it was loaded.
    assert not {"pygments", "rich.console", "sqlglot", "cryptography.hazmat.primitives"} & loaded
    assert not {"prometheus_client", "http.server", "wsgiref"} & loaded
    # For a registry of schemas, and for a log in a folder.
    assert not {"http.client", "connector.kafka.folder.door"} & loaded
    assert "connector.binlog.character_set_tables" not in loaded


@pytest.mark.parametrize(
    "command",
    [
        ["dump", "--format", "events"],
        ["dump", "--format", "text", "--table", "no.table"],
        ["flashback", "--table", "no.table"],
        ["stat", "--format", "json"],
    ],
    ids=" ".join,
)
def test_a_command_that_reads_files_loads_no_clients(
    command: list[str],
) -> None:
    loaded = loaded_by("-m", "connector", *command, str(LOG))
    assert {"connector.cli.commands", "connector.logs.inputs"} <= loaded
    catalogues = {name for name in loaded if name.endswith("_errors")}
    rooms = ("connector.binlog.", "connector.cli.", "connector.logs.")
    assert all(name.startswith(rooms) for name in catalogues), catalogues
    clients = {"asyncio", "cryptography", "kafka", "prometheus_client", "pymysql", "ssl"}
    others = {
        "connector.foundation.contract",
        "connector.binlog.files.binlog_reader",
        "pydantic",
        "sqlglot",
        "structlog",
    }
    # Nothing here is compressed, and no digits are written.
    unused = {"connector.cli.pipeline_arguments", "gzip", "orjson", "zstandard"}
    assert not (clients | others | unused) & loaded


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], *([*names, "--help"] for names, _ in commands())],
    ids=" ".join,
)
def test_help_loads_what_it_prints_alone(arguments: list[str]) -> None:
    loaded = loaded_by("-m", "connector", *arguments)
    assert "connector.cli" in loaded
    assert not {"connector.binlog.event", "connector.replication", "connector.stream"} & loaded
    assert not {"kafka", "pydantic", "pymysql", "rich", "structlog"} & loaded


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import connector.reader"],
        ["-c", "import connector.errors"],
        ["-c", "import stream_jobs.cuts"],
        ["-m", "stream_jobs", "--help"],
    ],
    ids=" ".join,
)
def test_what_only_reads_or_helps_loads_no_settings_and_no_clients(arguments: list[str]) -> None:
    loaded = loaded_by(*arguments)
    assert not {"kafka", "pydantic", "pymysql", "pyspark", "rich.console"} & loaded
