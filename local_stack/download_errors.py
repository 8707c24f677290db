"""What the local stack fetches, unpacks and keeps."""

from connector.foundation.errors.code import clause, failure

CACHE = failure(
    "P201",
    "{directory}: cannot write the cache: {said}",
    "set {variable} to a folder of yours",
    cause="What is fetched once is kept in a folder. This user may not write there.",
    example={
        "directory": "/root/.cache/binlog-connector",
        "said": "Permission denied",
        "variable": "BINLOG_CONNECTOR_CACHE",
    },
)
PART = failure(
    "P202",
    "{file}: cannot be written: {said}",
    "make room in the cache",
    cause="A file that is fetched is written into the cache. The disk is full or fails.",
    example={"said": "No space left on device"},
)
_JAR = "https://repo.maven.apache.org/maven2/org/apache/kafka/kafka-clients.jar"
DIGEST = failure(
    "P203",
    "{url}: the file has SHA-256 {found}, but {wanted} was expected",
    "it was not used; choose another repository",
    cause="The repository publishes other bytes than the ones that were tested.",
    example={"url": _JAR, "found": "6ca1…", "wanted": "014b…"},
)
GIVEN_UP = failure(
    "P204",
    "{url}: not fetched, because another download of the same set failed",
    "fix that one first",
    cause="A set of files is only of use as a whole. What was fetched is kept.",
    example={"url": _JAR},
)
UNREACHABLE = failure(
    "P205",
    "{url}: cannot be fetched: {why}",
    "check the network (proxy and certificate variables are honoured) and try again",
    cause="Several attempts to fetch the file failed.",
    example={"url": _JAR, "why": "[Errno 111] Connection refused"},
)
NO_URL = failure(
    "P206",
    "{url}: not an address of a repository",
    "give one that begins with https:// or http://",
    cause="Files are fetched over HTTP only.",
    example={"url": "file:///srv/maven/kafka-clients.jar"},
)
NOT_PUBLISHED = failure(
    "P207",
    "{url}: the repository does not have it (HTTP {status})",
    "choose a repository that is complete",
    cause="A mirror may lack files, and Debian's suites move to its archive when they are old.",
    example={"url": _JAR, "status": 404},
)
REFUSED = failure(
    "P208",
    "{url}: the repository refuses it: HTTP {status} {said}",
    "check that this machine may fetch from there",
    cause="The repository or a proxy answered that this file may not be fetched.",
    example={"url": _JAR, "status": 403, "said": "Forbidden"},
)
BUNDLE = failure(
    "P209",
    "{variable} names {file}, which is no certificate bundle: {said}",
    "name a PEM file that this user may read",
    cause="The variables of other tools say which certificates are trusted for downloads.",
    example={"variable": "REQUESTS_CA_BUNDLE", "said": "[Errno 2] No such file or directory"},
)
PARTS_DIFFER = clause("the parts do not fit together", was="P210")
NOT_RESUMED = clause("the server cannot resume", was="P211")
CUT = clause("the connection ended after {done} of {size} bytes", was="P212")
SETTINGS_XML = failure(
    "P220",
    "{file}: not valid XML: {said}",
    "repair it, or set {variable}",
    cause="Maven's settings may name a mirror to fetch from, so they are read.",
    example={
        "said": "no element found: line 1, column 10",
        "variable": "BINLOG_CONNECTOR_MAVEN_REPOSITORY",
    },
)

MIRROR_INCOMPLETE = failure(
    "P228",
    "{reason}",
    cause="The mirror lacks a list of packages, or a package that a server needs.",
)
NO_PACKAGES = MIRROR_INCOMPLETE.because(
    "{mirror}: suite {suite} has no package {packages}; set {variable} to a complete mirror",
    was="P221",
)
NO_INDEX = MIRROR_INCOMPLETE.because(
    "{mirror}/dists/{suite}/InRelease: lists no {index}; choose another mirror", was="P222"
)

DAMAGED_FILE = failure(
    "P227",
    "{file}: {reason}",
    "delete the file to fetch it again",
    cause="The file has another content than its name says, or is damaged.",
)
NO_PACKAGE = DAMAGED_FILE.because(
    "not a Debian package: it does not begin with {magic!r}", was="P223"
)
EMPTY_PACKAGE = DAMAGED_FILE.because("not a Debian package: it has no data.tar", was="P224")
NO_MEMBER = DAMAGED_FILE.because("has no {member}", was="P225")
NOT_UNPACKED = DAMAGED_FILE.because("cannot unpack {member}: {said}", was="P226")
