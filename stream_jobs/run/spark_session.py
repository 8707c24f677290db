"""The Spark session of the job: its configuration, its home, its log, its signals, its catalog.

The job uses Spark for its streams and its tasks. It needs no jars beyond Spark's own: it reads
Kafka and writes Delta tables in Python.

*Home.* Spark puts `SPARK_HOME/python/lib/pyspark.zip` before everything else that its Python
processes import. Python compiles what it imports from an archive anew in each process, which
takes a second; the installed package is compiled already. Spark starts eight processes, most of
them one after the other. So it is started from a folder of links without this archive.

    FOLDER/home-1f0e…/bin, conf, jars → the folders of the installed package

*Log.* Spark's own log is JSON with the names of the job's lines. Log4j reads its configuration
when the JVM starts, so that its first lines have this form, too. A JVM that spark-submit has
started gets it later, unless it was given a configuration.

*Signals.* A supervisor or `timeout` sends SIGTERM to all processes of the job. The JVM would end
at once, in the middle of a batch, and the job could not stop cleanly. PySpark protects the JVM
from SIGINT alone. Signals that are ignored when a program starts stay ignored, also in a JVM. The
JVM ends with the job: it reads the end of its standard input. Before PySpark has reached it, it is
killed.

*Catalog.* A mirror is registered as a table: `SELECT … FROM shop.orders`. A table of the catalog is
a name and the place of the mirror. All else is in the mirror's own log, so nothing has to be told
the catalog when columns change. It is registered after its first commit of this process; if that
fails, again after the next one.

https://spark.apache.org/docs/latest/configuration.html
https://logging.apache.org/log4j/2.x/manual/json-template-layout.html
"""

import hashlib
import json
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from shlex import quote
from tempfile import NamedTemporaryFile
from typing import Any, Final
from urllib.parse import urlsplit

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from connector.foundation.class_archive import archive_options
from connector.foundation.ecs import as_ecs
from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.foundation.private_folders import is_private, own_folder
from connector.foundation.settings.log_folder import folder_of
from stream_jobs.errors import setting_errors
from stream_jobs.settings import Settings

# An environment variable of log4j; the JVM of the driver inherits it.
_VARIABLE: Final = "LOG4J_CONFIGURATION_FILE"
# How the path ends of what Spark uses if nobody has chosen anything.
_DEFAULTS: Final = "org/apache/spark/log4j2-defaults.properties"

_LEVELS: Final = "%level{DEBUG=debug, INFO=info, WARN=warning, FATAL=error, ERROR=error}"
# What is not known is left out.
_TEMPLATE: Final[dict[str, Any]] = {
    "@timestamp": {
        "$resolver": "timestamp",
        "pattern": {"format": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'", "timeZone": "UTC"},
    },
    # A pattern ends with the stack trace, unless it is told not to.
    "log.level": {"$resolver": "pattern", "pattern": _LEVELS, "stackTraceEnabled": False},
    "message": {"$resolver": "message", "stringified": True},
    "log.logger": {"$resolver": "logger", "field": "name"},
    "error.type": {"$resolver": "exception", "field": "className"},
    "error.message": {"$resolver": "exception", "field": "message"},
    "error.stack_trace": {
        "$resolver": "exception",
        "field": "stackTrace",
        "stackTrace": {"stringified": True},
    },
}


@contextmanager
def json_log_at_start(settings: Settings) -> Iterator[Path | None]:
    """Let a JVM that is started here log in the form of `log.format`.

    For JSON, yield the configuration of log4j. A file that the environment names is left as it is.
    """
    if settings.log.format != "json":
        yield None
        return
    with NamedTemporaryFile("w", prefix="log4j2-", suffix=".json", encoding="utf-8") as file:
        json.dump(_configuration(settings.name), file)
        file.flush()
        is_chosen = _VARIABLE in os.environ
        if not is_chosen:
            os.environ[_VARIABLE] = file.name
        try:
            yield Path(file.name)
        finally:
            if not is_chosen:
                del os.environ[_VARIABLE]


def use_json_log(session: SparkSession, configuration: Path) -> None:
    """Let the JVM of a session that runs already log as JSON, if it logs by Spark's defaults."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001  # there is no other way
    log4j = jvm.org.apache.logging.log4j
    used = log4j.LogManager.getContext(False).getConfigLocation()
    if used is not None and used.toString().endswith(_DEFAULTS):
        log4j.core.config.Configurator.reconfigure(jvm.java.io.File(str(configuration)).toURI())


def _configuration(name: str) -> dict[str, Any]:
    # The same facts as in each line of the job: of the process, and of the pipeline.
    line: Any = as_ecs("mirror", name)(None, "", {"timestamp": "", "level": "", "event": ""})
    of_all = {key: fact for key, fact in line.items() if key not in _TEMPLATE}
    layout = {"eventTemplate": json.dumps(_TEMPLATE | of_all)}
    lines = {"name": "lines", "target": "SYSTEM_ERR", "JsonTemplateLayout": layout}
    root = {"level": "warn", "AppenderRef": {"ref": "lines"}}
    return {
        "configuration": {
            "status": "error",
            "appenders": {"Console": lines},
            "loggers": {"root": root},
        }
    }


_SPARK_HOME: Final = "SPARK_HOME"
_LINKED: Final = ("bin", "conf", "jars")


@contextmanager
def spark_home(folder: Path) -> Iterator[None]:
    """Let Spark start from a folder below `folder`, unless the environment names one."""
    package = Path(pyspark.__file__).parent
    if _SPARK_HOME in os.environ or not (package / "jars").is_dir() or not is_private(folder):
        yield
        return
    digest = hashlib.sha256(str(package).encode()).hexdigest()[:16]
    home = folder / f"home-{digest}"
    home.mkdir(mode=0o700, exist_ok=True)
    for name in _LINKED:
        if (package / name).exists() and not (home / name).exists():
            # Another job may do the same at this moment.
            link = home / f".{name}.{secrets.token_hex(4)}"
            link.symlink_to(package / name)
            link.replace(home / name)
    # Other programs that this process starts are not meant.
    os.environ[_SPARK_HOME] = str(home)
    try:
        yield
    finally:
        del os.environ[_SPARK_HOME]


# Spark starts Java by scripts of bash, which executes this file first.
_BASH_ENV: Final = "BASH_ENV"


# How long a process that was just started may take until bash has told its number.
_BASH_SECONDS = 2.0


@contextmanager
def java_start() -> Iterator[None]:
    """Let the JVM that Spark starts meanwhile ignore SIGTERM; kill it if the start is interrupted.

    What bash would execute first without us, it still does.
    """
    users = os.environ.get(_BASH_ENV)
    with tempfile.TemporaryDirectory(prefix="java-start-") as folder:
        script, number = Path(folder, "first.sh"), Path(folder, "pid")
        # Each script replaces itself by the next program, and the last one by Java. Later, Hadoop
        # starts a bash of its own.
        path = quote(str(number))
        lines = ["trap '' TERM", f"[ -e {path} ] || echo $$ > {path}"]
        if users:
            file = quote(os.path.expandvars(users))
            lines.append(f"[ ! -r {file} ] || . {file}")
        script.write_text("\n".join([*lines, ""]), "utf-8")
        os.environ[_BASH_ENV] = str(script)
        try:
            yield
        except BaseException:
            # A JVM that PySpark has reached ends with the job.
            if SparkContext._gateway is None:  # noqa: SLF001 - nothing else says so
                _kill_java(number)
            raise
        finally:
            if users is None:
                del os.environ[_BASH_ENV]
            else:
                os.environ[_BASH_ENV] = users


def _kill_java(number: Path) -> None:
    """End the JVM: it would wait forever, because PySpark deletes the folder that it answers to."""
    give_up_at = time.monotonic() + _BASH_SECONDS
    while not (number.exists() and (text := number.read_text()).endswith("\n")):
        if time.monotonic() > give_up_at:
            # PySpark has started nothing.
            return
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.kill(int(text), signal.SIGKILL)


# The JVMs of driver and executors start fast, and compute little: rows never pass them. What they
# need for a batch soon dies, so a small young generation, which stays in memory, is enough.
_JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xms96m -Xmn32m"
)

# spark-submit has set these: its JVM already runs, with its own master, jars and options.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_JAVA = "spark.driver.extraJavaOptions"
_JAVA_OF_EXECUTORS = "spark.executor.extraJavaOptions"

# Spark's default for a checkpoint asks a program of the system (`readlink`) about local files:
# fifteen processes for each batch. This one renames files, too.
_CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
_OF_LOCAL_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

# It warns of batches that take longer than trigger.interval_seconds. So it would warn each second
# of an idle job, whose batches wait that long for records. The lines of the job tell the lag.
_LATE_BATCHES = "org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor"
# It writes a hundred lines of stack traces when the query fails. The job says why in one line, and
# writes the trace of what is none of its own errors.
_FAILED_QUERIES = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"

# What a master begins with whose tasks run on this machine.
_LOCAL = "local"

_CHOICES: dict[str, str] = {
    # How often `idle` is written without new records; the default is every 10 seconds.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    # A batch has some rows, of offsets: plans for it are not worth compiling.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Python workers start faster, and those that read the stream are those that run tasks.
    "spark.python.daemon.module": "stream_jobs.apply.worker_daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_session(settings: Settings) -> SparkSession:
    """Start Spark, or use the session that spark-submit started.

    `spark.settings` has priority over the values here.
    """
    conf = dict(_CHOICES)
    if _is_local(settings.mirror.checkpoint):
        conf[_CHECKPOINTS] = _OF_LOCAL_FILES
    folder = own_folder("spark")
    if _SUBMITTED not in os.environ:
        # Java starts Python by this name; `python3` on PATH may be another one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf["spark.master"] = "local[*]"
        conf[_JAVA] = conf[_JAVA_OF_EXECUTORS] = _JAVA_OPTIONS
        if _JAVA not in settings.spark.settings:
            conf[_JAVA] += f" {archive_options(settings.spark.jars, folder)}"
        if settings.spark.jars:
            conf["spark.jars"] = ",".join(settings.spark.jars)
        elif settings.spark.packages:
            conf["spark.jars.packages"] = ",".join(settings.spark.packages)
    conf |= {key: _text(value) for key, value in settings.spark.settings.items()}
    is_local = conf.get("spark.master", "").startswith(_LOCAL)
    if is_local:
        # Only this machine needs to reach a driver that is its own executor.
        conf.setdefault("spark.driver.host", "127.0.0.1")
        conf.setdefault("spark.driver.bindAddress", "127.0.0.1")
        # Else Spark warns of the addresses that the machine has.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.Builder().appName(f"stream_jobs {settings.name}")
    for key, value in conf.items():
        builder = builder.config(key, value)
    with (
        spark_home(folder) if is_local else nullcontext(),
        json_log_at_start(settings) as configuration,
        java_start(),
    ):
        session = builder.getOrCreate()
        if configuration is not None and _SUBMITTED in os.environ:
            use_json_log(session, configuration)
    _set_levels(session, settings)
    return session


def require_one_machine(session: SparkSession, settings: Settings) -> None:
    """Raise ConfigError if tasks on other machines would read a log in a folder of this one."""
    if folder_of(settings.kafka.bootstrap_servers) and not is_on_this_machine(session):
        raise ConfigError(setting_errors.FOLDER_ON_CLUSTER, master=session.sparkContext.master)


def is_on_this_machine(session: SparkSession) -> bool:
    """Return whether the tasks of `session` run on the machine of the driver."""
    return (session.sparkContext.master or _LOCAL).startswith(_LOCAL)


def _set_levels(session: SparkSession, settings: Settings) -> None:
    """Let Spark write what people need to know."""
    session.sparkContext.setLogLevel(settings.spark.log_level)
    if settings.spark.log_level == "WARN":
        _silence(session, _LATE_BATCHES, "ERROR")
    if settings.spark.log_level != "INFO":
        _silence(session, _FAILED_QUERIES, "OFF")


def _silence(session: SparkSession, logger: str, level: str) -> None:
    """Let a logger of Spark write nothing below `level`."""
    log4j = session.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # noqa: SLF001
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.toLevel(level))


def _is_local(checkpoint: str) -> bool:
    """Return whether a checkpoint is on this machine; without a path, it is."""
    return ":" not in checkpoint or checkpoint.startswith("file:")


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Catalog:
    """The catalog of one session."""

    def __init__(self, session: SparkSession, base: str) -> None:
        """Register mirrors below `base` with `session`, whose settings say which catalog that is.

        `base` is a path, or a URI.
        """
        self._session = session
        self._base = base.rstrip("/") if urlsplit(base).scheme else str(Path(base).absolute())
        self._registered: set[tuple[str, str]] = set()

    def register(self, mirrors: Mapping[tuple[str, str], str]) -> dict[str, Message]:
        """Register mirrors: by database and name, the path below the base.

        Return by `database.name` why one could not be registered. The mirrors themselves go on.
        """
        problems = {}
        for place, path in mirrors.items():
            if place in self._registered:
                continue
            name, location = ".".join(place), f"{self._base}/{path}"
            try:
                created = self._create(place, location)
            except (PySparkException, Py4JError) as error:
                reason = str(error).partition("\n")[0]
                problems[name] = Message(
                    setting_errors.NOT_REGISTERED, {"name": name, "said": reason}
                )
                continue
            if _is_same(created, location):
                self._registered.add(place)
            else:
                facts = {"name": name, "other": created, "location": location}
                problems[name] = Message(setting_errors.REGISTERED_ELSEWHERE, facts)
        return problems

    def _create(self, place: tuple[str, str], location: str) -> str:
        """Create the table if there is none; return its location."""
        database, table = (f"`{name.replace('`', '``')}`" for name in place)
        sql = self._session.sql
        sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        text = location.replace("\\", "\\\\").replace("'", "\\'")
        sql(f"CREATE TABLE IF NOT EXISTS {database}.{table} USING delta LOCATION '{text}'")
        rows = sql(f"DESCRIBE TABLE EXTENDED {database}.{table}").collect()
        # The last one: a column may have this name.
        return str([row["data_type"] for row in rows if row["col_name"] == "Location"][-1])


def _is_same(one: str, other: str) -> bool:
    """Return whether two locations are the same: Spark adds `file:`, and S3 has two names."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.netloc, first.path.rstrip("/")) == (second.netloc, second.path.rstrip("/"))
