"""Spark's own log as JSON, with the names that the lines of the job have.

Log4j reads its configuration when the JVM starts, so that its first lines have this form, too. A
JVM that spark-submit has started gets it later, unless it was given one of its own.

https://logging.apache.org/log4j/2.x/manual/json-template-layout.html
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final

from connector.contract.ecs import as_ecs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

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
def log_form(settings: Settings) -> Iterator[Path | None]:
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
