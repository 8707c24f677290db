"""An unpacked MySQL or MariaDB: how to call it, and its version."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_stack
from local_stack.libraries import FOLDERS, library_environment, library_path
from local_stack.process import log_tail

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache

Version = tuple[int, int, int]

# "mysqld  Ver 8.0.31 for Linux", "mariadbd  Ver 11.8.6-MariaDB", "mysqld  Ver 9.7.4-1 for ..."
VERSION = re.compile(r"\bVer (\d+)\.(\d+)\.(\d+)")
LOADER = "ld-linux-x86-64.so.2"


@dataclass(frozen=True, slots=True)
class Installation:
    """A server program with its files."""

    command: tuple[str, ...]  # the program, after a loader if it has its own libc
    options: tuple[str, ...]  # options for the paths of its parts; they come first
    share: Path | None  # its SQL scripts, if known
    library_path: str  # folders for LD_LIBRARY_PATH
    version: Version

    def environment(self) -> dict[str, str]:
        """Return the environment of the program."""
        return library_environment(self.library_path)

    def run(self, options: list[str], log: Path, script: str = "") -> None:
        """Run the program to its end, with `script` as its input; its output goes to `log`.

        Raises LocalStackError, with the end of the log, if it fails.
        """
        with log.open("ab") as output:
            run = subprocess.run(  # noqa: S603 - the server of this installation
                [*self.command, *self.options, *options],
                env=self.environment(),
                input=script.encode(),
                stdout=output,
                stderr=output,
                check=False,
            )
        if run.returncode:
            raise LocalStackError(
                local_stack.NO_DATA, server=self.command[-1], log=log, tail=log_tail(log)
            )


def program_installation(program: Path, cache: Cache, basedir: Path | None = None) -> Installation:
    """Describe a `program` that uses this system's libc, unpacked in `basedir` or installed.

    Raises LocalStackError if it is missing, is not a server, or lacks libraries.
    """
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise LocalStackError(local_stack.NO_PROGRAM, program=program)
    libraries = library_path(program, cache)
    options = ["--no-defaults"]
    if basedir is not None:
        options += _locations(basedir, basedir / "share")
    command = (str(program),)
    share = None if basedir is None else basedir / "share"
    return Installation(command, tuple(options), share, libraries, _version(command, libraries))


def rooted_installation(root: Path, program: str) -> Installation:
    """Describe `program` of Debian packages unpacked in `root`, with their own libc."""
    folders = [root / folder for folder in FOLDERS]
    loader = next(folder / LOADER for folder in folders if (folder / LOADER).exists())
    libraries = os.pathsep.join(str(folder) for folder in folders)
    command = (str(loader), "--library-path", libraries, str(root / program))
    share = next(
        path for path in (root / "usr/share/mariadb", root / "usr/share/mysql") if path.is_dir()
    )
    plugins = f"--plugin-dir={root / 'usr/lib/mysql/plugin'}"
    options = ("--no-defaults", *_locations(root / "usr", share), plugins)
    return Installation(command, options, share, "", _version(command, ""))


def _locations(basedir: Path, share: Path) -> list[str]:
    return [
        f"--basedir={basedir}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
    ]


def _version(command: tuple[str, ...], libraries: str) -> Version:
    run = subprocess.run(  # noqa: S603 - the program that was just checked
        [*command, "--no-defaults", "--version"],
        env=library_environment(libraries),
        capture_output=True,
        text=True,
        check=False,
    )
    match = VERSION.search(run.stdout)
    if match is None:
        said = (run.stderr or run.stdout).strip()
        raise LocalStackError(local_stack.NO_VERSION, program=command[-1], said=said)
    return int(match[1]), int(match[2]), int(match[3])
