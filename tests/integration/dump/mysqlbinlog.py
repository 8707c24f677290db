"""The mysqlbinlog that comes with a private MySQL server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_stack import MysqlServer


def mysqlbinlog(server: MysqlServer, file: Path, *options: str) -> list[str]:
    """Return the lines of `mysqlbinlog -vvv`, in UTC and without BINLOG statements."""
    installation = server._installation
    *loader, mysqld = installation.command
    program = Path(mysqld).parents[1] / "bin/mysqlbinlog"
    charsets = next(o for o in installation.options if o.startswith("--character-sets-dir"))
    common = ["--no-defaults", charsets, "-vvv", "--base64-output=decode-rows"]
    run = subprocess.run(
        [*loader, str(program), *common, *options, str(file)],
        env=installation.environment() | {"TZ": "UTC"},
        capture_output=True,
        check=True,
    )
    return run.stdout.decode("utf-8").splitlines()
