"""The two programs of a lake as processes: the connector and the Spark job.

Each ends with its owner, and the other one if one has ended: a lake has both or none.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import socket
import sys
import time
import tomllib
from contextlib import ExitStack, closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from connector.foundation.errors import ConfigError, DefiniteError
from connector.foundation.errors.catalogue import codes
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.log_folder import folder_of
from connector.foundation.settings.sections import Settings
from connector.lake import lake_errors
from connector.replication.server import replication_status
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.metrics.source_watch import read_source_log
from connector.stream.status.model import PipelineStatus, State
from connector.stream.status.status_client import NoAnswer, fetch_status
from local_stack.java import java_runtime
from local_stack.process import GuardedProcess, log_tail
from stream_jobs.cuts import NO_KEY, Cut, latest_cut
from stream_jobs.cuts.state_topics import COPY_FAILED, COPYING, ProgressTopic
from stream_jobs.delta.storages import storage_of
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.source.client import KafkaClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from connector.lake.lake_folder import LakeFolder, LakeOptions

_LOOK_SECONDS: Final = 0.25
# A guard gives a program 20 seconds for a clean end.
_END_SECONDS: Final = 30.0
# A guard adds it to the number of the signal.
_OF_A_SIGNAL: Final = 128
# A copy that has failed is told, and is not waited for.
_FAILED: Final = "failed"
# In the fix of an error that a pipeline with the same name cannot get over.
_NEW_PIPELINE: Final = re.compile(r"\b(new|another) name\b|\bstart over\b")
_BEFORE_STREAMING: Final = frozenset({State.STARTING, State.STOPPED, State.UNKNOWN})


class Program(NamedTuple):
    """A program that runs."""

    process: GuardedProcess
    log: Path  # what it says
    begins_at: int  # the bytes of those that have written to the log before


class LakePipeline:
    """The running programs of one lake."""

    def __init__(self, folder: LakeFolder) -> None:
        """Raises ConfigError for wrong files, and DefiniteError if the log is not there."""
        self.folder = folder
        self._settings = load_settings(folder.connector_config)
        self._job = JobSettings.load(folder.job_config)
        self._require_same_log()
        self._look_at_log()
        self._programs: dict[str, Program] = {}

    def __enter__(self) -> Self:
        """Start both; raises LocalStackError without a Java runtime."""
        try:
            self._start()
        except BaseException:
            # In a notebook, the owner of the one that runs lives on.
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def check(self) -> None:
        """Raise DefiniteError if a program has ended by itself, or if the log was taken away."""
        for name, program in self._programs.items():
            if not program.process.is_running:
                raise self._ended(name, program)
        self._look_at_log()

    def status(self) -> PipelineStatus | None:
        """Return what the programs say of themselves; None until they answer."""
        answer = fetch_status(self._settings)
        return None if isinstance(answer, NoAnswer) else answer

    def state_words(self) -> str:
        """Return the state of both programs for a person, with its reason."""
        if (problem := self.folder.problem) is not None:
            return problem.what
        status = self.status()
        if status is None:
            return "starting"
        return f"{status.state.state.words}: {status.state.reason}"

    def last_cut(self) -> Cut | None:
        """Return the newest moment of all tables. Raises MirrorError if it cannot be read."""
        return latest_cut(storage_of(str(self.folder.path)), str(self.folder.path))

    def catch_up(self, on_look: Callable[[], None]) -> Cut:
        """Wait until the tables have all that the source has committed by now; return that cut.

        It may leave out tables that cannot go on (`require_all`). `on_look` is called several times
        a second. Raises as `check`; SourceUnavailable or SourceRefused if the source does not say
        what it has committed; MirrorError if the log or a cut cannot be read.
        """
        while not self._is_streaming():
            self._look(on_look)
        with MysqlServer.connect(self._settings.source) as server:
            log = read_source_log(server)

        @cache
        def has_transaction(file: str, position: int) -> bool:
            with MysqlServer.connect(self._settings.source) as server:
                return replication_status.has_transaction(server, log.files, file, position)

        # A copy moves neither GTIDs nor the position of an idle source, but it counts in sequences.
        while (seq := self._delivered_seq()) is None:
            self._look(on_look)
        while True:
            cut = self.last_cut()
            if (
                cut is not None
                and cut.seq >= seq
                and log.is_within(cut.gtid, cut.position, has_transaction)
                # The reason for a shard's mirror names the shard first.
                and not any(why.endswith(COPYING) for why in cut.left_out.values())
                and self._is_streaming()
            ):
                return cut
            self._look(on_look)

    def require_all(self, cut: Cut, on_look: Callable[[], None]) -> None:
        """Raise DefiniteError if a table with a key does not have all changes up to `cut`.

        This includes each table that has changes in quarantine by now. `on_look` as in `catch_up`.
        """
        for table, why in cut.left_out.items():
            if why != NO_KEY:
                raise left_out_error(self.folder, table, why)
        while (status := self.status()) is None:
            self._look(on_look)
        keyless = {table for table, why in cut.left_out.items() if why == NO_KEY}
        held_back = {table.name for table in status.tables if table.kept_back is not None}
        if tables := sorted(held_back - keyless):
            facts = {"folder": self.folder.path, "config": self.folder.connector_config}
            raise DefiniteError(lake_errors.HELD_BACK, **facts, tables=tables)

    def _require_same_log(self) -> None:
        """Raise ConfigError unless the job reads what the connector writes."""
        ours = self._settings.kafka
        others = self._job.kafka
        for key in ("bootstrap_servers", "topic_prefix"):
            here, there = getattr(ours, key), getattr(others, key)
            if here != there:
                raise ConfigError(
                    lake_errors.DISAGREE,
                    key=f"kafka.{key}",
                    here=here,
                    connector=self.folder.connector_config,
                    there=there,
                    job=self.folder.job_config,
                )

    def _look_at_log(self) -> None:
        """Raise DefiniteError if the log was taken away, unless the user has named another one."""
        folder = self.folder
        if folder_of(self._settings.kafka.bootstrap_servers) == folder.log and not folder.has_log:
            facts = {"folder": folder.path, "log": folder.log, "url": self._url}
            raise DefiniteError(lake_errors.LOG_GONE, **facts)

    @property
    def _url(self) -> str:
        source = self._settings.source
        return f"mysql://{source.user}@{source.host}:{source.port}"

    def _ended(self, name: str, program: Program) -> DefiniteError:
        """Return what to say of a program that has ended by itself."""
        exit_code, log = program.process.exit_code, program.log
        facts: dict[str, object] = {"program": name, "exit_code": exit_code, "log": log}
        if (by := _signal(exit_code)) is not None:
            # No error that it has told is the reason.
            why = ", which the system sends when memory is short" if by is signal.SIGKILL else ""
            facts["exit_code"] = f"{exit_code} ({by.name}{why})"
            facts["tail"] = log_tail(log, program.begins_at)
            return DefiniteError(lake_errors.ENDED, **facts)
        if (refusal := self.folder.refusal()) is not None:
            # What it has said last may not be in its log.
            facts = {"folder": self.folder.path, "program": name, "exit_code": exit_code}
            return DefiniteError(lake_errors.UNWRITABLE, **facts, why=refusal)
        words = last_words(log, program.begins_at)
        facts["tail"] = str(words)
        code = None if words.code is None else codes().get(words.code)
        if code is None or not _NEW_PIPELINE.search(code.fix):
            return DefiniteError(lake_errors.ENDED, **facts)
        facts |= {"url": self._url, "folder": self.folder.state}
        return DefiniteError(lake_errors.START_OVER, **facts)

    def _start(self) -> None:
        folder = self.folder
        metrics = self._settings.metrics
        for address in (metrics.listen, metrics.mirror):
            if address is not None and not await_free(address, _END_SECONDS):
                raise ConfigError(
                    lake_errors.ADDRESS, address=address, folder=folder.path, state=folder.state
                )
        java_home = str(java_runtime().parents[1])
        run = [sys.executable, "-m", "connector", "run", str(folder.connector_config)]
        job = [sys.executable, "-m", "stream_jobs", str(folder.job_config)]
        # Its lines and Spark's log are two file descriptors, and go to two files.
        shell = ["sh", "-c", f"exec {shlex.join(job)} >> {shlex.quote(str(folder.job_lines))}"]
        for program, command, log, said in (
            ("the connector", run, folder.connector_log, folder.connector_log),
            ("the Spark job", shell, folder.job_log, folder.job_lines),
        ):
            environment = {**os.environ, "JAVA_HOME": java_home}
            begins_at = said.stat().st_size if said.exists() else 0
            process = GuardedProcess(command, log, environment)
            self._programs[program] = Program(process, said, begins_at)

    def _end(self) -> None:
        """End both: the job first, which needs the log of the connector's process."""
        with ExitStack() as stack:
            for program in self._programs.values():
                stack.callback(_end, program.process)

    def _is_streaming(self) -> bool:
        """Return whether the tables that exist are copied."""
        status = self.status()
        return (
            status is not None
            and status.state.state not in _BEFORE_STREAMING
            and not any(table.copy and table.copy.phase != _FAILED for table in status.tables)
        )

    def _delivered_seq(self) -> str | None:
        """Return the sequence that all changes in the log are below; None before the first ones."""
        kafka = self._job.kafka
        with closing(KafkaClient(kafka.facts())) as client:
            newest = ProgressTopic(client, kafka.topic_prefix).newest()
        return None if newest is None else str(newest.bound.unpack())

    def _look(self, on_look: Callable[[], None]) -> None:
        self.check()
        on_look()
        time.sleep(_LOOK_SECONDS)


def new_settings(folder: LakeFolder, options: LakeOptions) -> Settings:
    """Return the settings of the connector of a new lake.

    Raises ConfigError if one of the programs would refuse its file. Variables of the environment
    have priority over the files.
    """
    files = folder.new_files(options)
    JobSettings.of(tomllib.loads(files[folder.job_config]), folder.job_config)
    return Settings.of(tomllib.loads(files[folder.connector_config]), folder.connector_config)


def left_out_error(folder: LakeFolder, table: str, why: str) -> DefiniteError:
    """Return what to say of a table that a cut leaves out."""
    # The reason for a shard's mirror names the shard first.
    if why.endswith(COPY_FAILED):
        code, config = lake_errors.COPY_FAILED, folder.connector_config
    else:
        code, config = lake_errors.LEFT_OUT, folder.job_config
    return DefiniteError(code, folder=folder.path, table=table, config=config, why=why)


def _end(process: GuardedProcess) -> None:
    """End a process; at once if the wait for its end is interrupted."""
    try:
        process.terminate()
    except BaseException:
        process.kill()
        raise


def await_free(address: str, seconds: float) -> bool:
    """Wait until nobody listens at `address`; return False if somebody does after so many seconds.

    Programs whose owner was killed end by themselves.
    """
    ends_at = time.monotonic() + seconds
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while time.monotonic() < ends_at:
        try:
            socket.create_server((host.strip("[]"), int(port)), family=family).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                # The program says what is wrong with the address.
                return True
        else:
            return True
        time.sleep(_LOOK_SECONDS)
    return False


class LastWords(NamedTuple):
    """What a log says last."""

    text: str
    code: str | None = None  # of the error

    def __str__(self) -> str:
        """Return the text with its code before it."""
        return self.text if self.code is None else f"[{self.code}] {self.text}"


def last_words(log: Path, since: int = 0) -> LastWords:
    """Return the last error in a log of JSON lines, from byte `since` on; else its last lines."""
    tail = log_tail(log, since)
    for line in reversed(tail.splitlines()):
        with suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "error.message" in entry:
                return LastWords(entry["error.message"], entry.get("error.code"))
    return LastWords(tail)


def _signal(exit_code: int | None) -> signal.Signals | None:
    """Return the signal that has ended a program; None if it has ended by itself."""
    if exit_code is None:
        return None
    with suppress(ValueError):
        return signal.Signals(exit_code - _OF_A_SIGNAL)
    return None
