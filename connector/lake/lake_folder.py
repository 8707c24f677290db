"""The folder of a lake: its tables, and the state and configuration files of its two programs.

    lake/
      shop/orders/          a table, as docs/tables.md says
      _cdc/connector.toml   what `binlog-connector run` reads
           stream_job.toml  what `binlog-connector-mirror` reads
           source.password  the password of the source, for this user alone, unless the
                            environment gives one at each start
           lake.json        the arguments of the first start
           log/             the log between the two programs
           *.log            what they say

The files are written once. From then on, they are the user's to edit, for example to use Kafka.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from typing import Final

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.foundation.settings.toml_text import toml_value
from connector.kafka.folder.mounts import network_type
from connector.lake import lake_errors
from local_stack.server import free_ports

PIPELINE: Final = "lake"
# The Spark job makes a folder of this name for what it keeps about the mirror.
_STATE: Final = "_cdc"
_PATH: Final = "--to"
_TIMEOUT: Final = "connect_timeout_seconds"
# A batch of the Spark job needs some files of a few KB each.
_ROOM_BYTES: Final = 1024 * 1024
# More than a file system may have left in a block that is used.
_PROBE_BYTES: Final = 64 * 1024

# Each batch and each commit costs CPU however little it has. At 500 changes a second on five
# tables, rows are readable after 0.3 s with these; half of both would save 0.1 s, for a third more
# CPU.
INTERVAL_SECONDS: Final = 0.4
COMMIT_PAUSE_MS: Final = 75
# As long as cuts are listed: `verify --since` reads the records after one.
DELETE_AFTER_HOURS: Final = 6

_CONNECTOR: Final = """\
# binlog-connector run {path}
name = {name}

[source]
host = {host}
port = {port}
user = {user}
password_file = {password_file}
server_id = {server_id}
tables = {tables}
start = "snapshot"
{tls}{timeout}
[kafka]
bootstrap_servers = [{log}]
topic_prefix = {name}

[delivery]
# Only batches of the Spark job wait for changes: fewer and larger commits cost them no time.
commit_pause_ms = {commit_pause_ms}

[log]
format = "json"

[metrics]
listen = {listen}
mirror = {mirror_listen}
"""

_STREAM_JOB: Final = """\
# binlog-connector-mirror {path}
name = {name}

[kafka]
bootstrap_servers = [{log}]
topic_prefix = {name}
# Nobody else reads the log: it keeps what the tables have for some hours.
delete_after_hours = {delete_after_hours}

[mirror]
path = {mirror}
checkpoint = {checkpoint}
formats = {formats}

[trigger]
kind = "processingTime"
interval_seconds = {interval_seconds}

[log]
format = "json"

[metrics]
listen = {mirror_listen}

[spark.settings]
"spark.driver.memory" = "700m"
"spark.local.dir" = {scratch}
"spark.sql.warehouse.dir" = {warehouse}
"""


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """What the user has chosen for a new lake."""

    source: SourceSettings
    tables: Sequence[str]
    formats: Sequence[str]
    listen: str | None  # HOST:PORT of the page; None: a free port of this machine
    # Whether the lake keeps the password: not one that the environment gives at each start.
    keeps_password: bool = True

    @property
    def followed(self) -> SourceSettings:
        """The source with its tables."""
        return self.source.model_copy(update={"tables": list(self.tables)})

    @property
    def recorded(self) -> dict[str, str]:
        """What must be the same at each start, by the name of its argument."""
        source = self.source
        return {
            "SOURCE": f"mysql://{source.user}@{source.host}:{source.port}",
            "--tables": ", ".join(self.tables),
            "--format": ", ".join(self.formats),
        }

    def chosen(self, settings: Settings) -> Iterator[tuple[str, object, object]]:
        """Yield what else was chosen: the key of the connector, its value there, and the choice."""
        source, used = self.source, with_whole_paths(settings.source)
        for name in sorted(source.tls.model_fields_set):
            yield f"source.tls.{name}", getattr(used.tls, name), getattr(source.tls, name)
        if _TIMEOUT in source.model_fields_set:
            yield f"source.{_TIMEOUT}", getattr(used, _TIMEOUT), getattr(source, _TIMEOUT)
        if self.listen is not None:
            yield "metrics.listen", settings.metrics.listen, self.listen


def with_whole_paths(source: SourceSettings) -> SourceSettings:
    """Return a source whose files are found from any folder."""
    tls = source.tls
    paths = {name: value.absolute() for name, value in tls if isinstance(value, Path)}
    return source.model_copy(update={"tls": tls.model_copy(update=paths)})


class LakeFolder:
    """The files of one lake; an absolute path."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.state = self.path / _STATE
        self.connector_config = self.state / "connector.toml"
        self.connector_log = self.state / "connector.log"
        self.job_config = self.state / "stream_job.toml"
        self.job_log = self.state / "stream_job.log"
        self.job_lines = self.state / "stream_job.jsonl"
        self.log = self.state / "log"
        # Of the log of this lake: a process that does not find it makes an empty one.
        self._mark = self.log / "lake"
        self._record = self.state / "lake.json"
        self.password = self.state / "source.password"
        self._lock: int | None = None

    @property
    def is_lake(self) -> bool:
        """Whether a start has written the files of the programs."""
        return self._record.exists()

    def require_local_disk(self) -> None:
        """Raise ConfigError if a new lake, none of which may exist yet, cannot have its log."""
        try:
            existing = next(each for each in (self.log, *self.log.parents) if each.exists())
            kind = network_type(existing)
        except OSError as error:
            raise self._failure(error) from error
        if kind is not None:
            raise ConfigError(lake_errors.NETWORK, folder=self.path, kind=kind)

    def lock(self) -> None:
        """Keep other processes out until this one ends.

        Raises ConfigError if one keeps the lake already, or if the folder cannot be written.
        """
        try:
            self.state.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.state / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                lake_errors.IN_USE, folder=self.path, config=self.connector_config
            ) from error
        except OSError as error:
            raise self._failure(error) from error

    def unlock(self) -> None:
        """Let others in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write(self, options: LakeOptions) -> None:
        """Write the files of a new lake.

        Raises ConfigError if the folder cannot be written.
        """
        if options.keeps_password:
            self.write_password(options.source.read_password())
        try:
            self.log.mkdir(mode=0o700, exist_ok=True)
            self._mark.touch()
            for path, text in self.new_files(options).items():
                path.write_text(text, encoding="utf-8")
            # The last file: a start that ended before it writes all of them again.
            partial = self._record.with_suffix(".new")
            record = {_PATH: str(self.path), **options.recorded}
            partial.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            # Else a loss of power could leave this file without the others, or empty.
            files = (self.connector_config, self.job_config, partial)
            passwords = (self.password,) if options.keeps_password else ()
            _await_disk(*passwords, *files, self.log, self.state)
            partial.replace(self._record)
            _await_disk(self.state)
        except OSError as error:
            raise self._failure(error) from error

    def require_own_path(self) -> None:
        """Raise ConfigError if the lake was made under another path, which its files name.

        A copy of a lake would write to the log of the first one.
        """
        made_as = json.loads(self._record.read_text("utf-8")).get(_PATH)
        if made_as is None or Path(made_as) == self.path:
            return
        with suppress(OSError):
            if self.path.samefile(made_as):
                return
        raise ConfigError(lake_errors.MOVED, folder=self.path, made_as=made_as, state=self.state)

    def read_password(self) -> str | None:
        """Return the password that the lake keeps; None if it keeps none.

        Raises ConfigError if it cannot be read.
        """
        try:
            return self.password.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failure(error) from error

    def write_password(self, password: str) -> None:
        """Keep another password. Raises ConfigError if the folder cannot be written."""
        try:
            self.password.touch(mode=0o600)
            self.password.write_text(password, encoding="utf-8")
        except OSError as error:
            raise self._failure(error) from error

    @property
    def has_log(self) -> bool:
        """Whether the log that was made with the lake is there."""
        return self._mark.exists()

    @property
    def problem(self) -> Message | None:
        """What keeps the programs from writing now, if the lake itself can see it."""
        try:
            free = disk_usage(self.path).free
        except FileNotFoundError:
            # It was moved away, which is said of its log.
            return None
        if free >= _ROOM_BYTES:
            return None
        return Message(lake_errors.DISK_FULL, {"folder": self.path})

    def refusal(self) -> str | None:
        """Return why the disk takes no file now, in the words of the system; None if it does."""
        probe = self.state / "probe"
        try:
            try:
                probe.write_bytes(bytes(_PROBE_BYTES))
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            return error.strerror
        return None

    def files(self) -> dict[Path, str]:
        """Return the configuration files of the programs, which the user may have changed."""
        paths = (self.connector_config, self.job_config)
        return {path: path.read_text(encoding="utf-8") for path in paths}

    def new_files(self, options: LakeOptions) -> dict[Path, str]:
        """Return these files as they are for a new lake."""
        values = self._values(options)
        templates = ((self.connector_config, _CONNECTOR), (self.job_config, _STREAM_JOB))
        return {path: template.format(path=path, **values) for path, template in templates}

    def require(self, options: LakeOptions) -> None:
        """Raise ConfigError if the lake was made with other arguments, or its files say other."""
        recorded: Mapping[str, str] = json.loads(self._record.read_text("utf-8"))
        made = [(name, recorded.get(name, ""), wanted) for name, wanted in options.recorded.items()]
        for option, known, wanted in (*made, *options.chosen(load_settings(self.connector_config))):
            if known != wanted:
                raise ConfigError(
                    lake_errors.OTHER_LAKE,
                    folder=self.path,
                    state=self.state,
                    option=option,
                    recorded=known,
                    wanted=wanted,
                )

    def _values(self, options: LakeOptions) -> dict[str, object]:
        source = options.source
        tls = source.tls.model_dump(mode="json", exclude_defaults=True)
        seconds = source.connect_timeout_seconds
        taken = set() if options.listen is None else {int(options.listen.rpartition(":")[2])}
        of_page, of_job = free_ports(2, taken)
        return {
            "name": toml_value(PIPELINE),
            "host": toml_value(source.host),
            "port": source.port,
            "user": toml_value(source.user),
            "password_file": toml_value(str(self.password)),
            "server_id": source.server_id,
            "tables": toml_value(list(options.tables)),
            "tls": f"tls = {toml_value(tls)}\n" if tls else "",
            "timeout": f"{_TIMEOUT} = {seconds}\n" if _TIMEOUT in source.model_fields_set else "",
            "log": toml_value(self.log.as_uri()),
            "commit_pause_ms": COMMIT_PAUSE_MS,
            "interval_seconds": INTERVAL_SECONDS,
            "delete_after_hours": DELETE_AFTER_HOURS,
            "listen": toml_value(options.listen or f"127.0.0.1:{of_page}"),
            "mirror_listen": toml_value(f"127.0.0.1:{of_job}"),
            "mirror": toml_value(str(self.path)),
            "checkpoint": toml_value(str(self.state / "checkpoint")),
            "formats": toml_value(list(options.formats)),
            "scratch": toml_value(str(self.state / "spark")),
            "warehouse": toml_value(str(self.state / "spark" / "warehouse")),
        }

    def _failure(self, error: OSError) -> ConfigError:
        return ConfigError(lake_errors.FOLDER, folder=self.path, why=error.strerror or str(error))


def _await_disk(*paths: Path) -> None:
    """Wait until files, and the names in folders, are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
