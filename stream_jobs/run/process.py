"""The process of the job: one pipeline, or several with one Spark, a query and a thread for each.

*Several.* Each pipeline is a `StreamJob` of its own: its mirror, cuts, quarantine, checkpoint,
status lines and metrics are those that it would have alone, so one that moves into a process of its
own, or into this one, goes on where it was. Spark divides its cores among the pipelines that have
work (`spark.scheduler.mode` FAIR, a pool for each), so that a large batch does not keep the others
waiting.

*Failing.* No pipeline stops the others. One that fails says so, and is started again after a
minute; nobody else could, as the process goes on. One whose mirror belongs to another job ends for
good. The process ends when no pipeline is left, or after a signal: with 1 if one had failed last,
else with 3 if one was refused, else with 0.

*Output.* Lines of several pipelines come on one output, each whole. Lines in JSON have the name of
the pipeline anyway; those for people begin with it.
"""

import io
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from pyspark.sql import SparkSession

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from stream_jobs.apply.garbage import collect_garbage_rarely
from stream_jobs.errors import StopRequested, exit_codes, job_errors
from stream_jobs.run import job
from stream_jobs.run.console_lines import open_lines
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.metrics_server import metrics_server
from stream_jobs.run.pipeline_settings import configuration_files, load_pipelines, session_settings
from stream_jobs.run.spark_session import start_session
from stream_jobs.run.status_lines import StatusLines
from stream_jobs.run.task_runner import SCHEDULER_POOL, start_workers
from stream_jobs.settings import Settings, load_settings
from stream_jobs.source.offset_stream import error_message

# A pipeline that has failed is started again after so long.
_AGAIN_SECONDS: Final = 60.0


@dataclass(slots=True)
class Pipeline:
    """One pipeline of the process, from its first start to its last end."""

    settings: Settings
    lines: StatusLines
    metrics: JobMetrics
    exit_code: int = exit_codes.OK
    _stop: threading.Event = field(default_factory=threading.Event)
    _job: job.StreamJob | None = None

    def new_job(self) -> job.StreamJob:
        """Return a run of it; raises ConfigError for a path of an unknown storage."""
        self._job = job.StreamJob(self.settings, self.lines, self.metrics)
        if self._stop.is_set():
            self._job.stop()
        return self._job

    def stop(self) -> None:
        """Request a stop after the current batch; returns at once."""
        self._stop.set()
        if self._job is not None:
            self._job.stop()

    @property
    def is_to_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def run(self, session: SparkSession, again_seconds: float) -> None:
        """Run until it is stopped, refused, or has nothing left; start it again after a failure.

        An error that nobody expects ends only this run, too, and is told with its trace.
        """
        session.sparkContext.setLocalProperty(SCHEDULER_POOL, self.settings.name)
        while True:
            attempt = self.new_job()
            try:
                self.exit_code = attempt.run(session)
            except Exception as error:  # noqa: BLE001  # no pipeline stops the others
                self.lines.write_trace(error)
                self.exit_code = attempt.fail(error_message(error))
            is_last = self.settings.trigger.kind == "availableNow"
            if self.exit_code != exit_codes.FAILED or is_last or self._stop.wait(again_seconds):
                return


def run_configurations(paths: Sequence[Path], out: TextIO) -> int:
    """Run the pipelines of files and folders, with lines on `out`; return the exit code."""
    if len(paths) > 1 or paths[0].is_dir():
        return run_files(paths, out)
    return _run_file(paths[0], out)


def _run_file(path: Path, out: TextIO) -> int:
    """Run one pipeline, which has the process for itself."""
    lines = open_lines(out, Settings.peek(path, "log.format"), Settings.peek(path, "name"))
    try:
        settings = load_settings(path)
        metrics = JobMetrics(settings.name)
        own = settings.metrics
        with metrics_server(metrics, own.listen, own.tables_max):
            return job.run(settings, lines, metrics)
    except ConfigError as error:
        lines.fail(error.message)
        return exit_codes.CONFIG


def run_files(paths: Sequence[Path], out: TextIO) -> int:
    """Run several pipelines, or those of a folder; return the exit code."""
    files: list[Path] = []
    try:
        files = configuration_files(paths)
        every = load_pipelines(files)
        outputs = SharedOutput(out)
        with ExitStack() as served:
            pipelines = [open_pipeline(settings, outputs, served) for settings in every]
            return _run(pipelines)
    except ConfigError as error:
        is_json = any(Settings.peek(file, "log.format") == "json" for file in files)
        open_lines(out, "json" if is_json else None).fail(error.message)
        return exit_codes.CONFIG


def open_pipeline(settings: Settings, outputs: "SharedOutput", served: ExitStack) -> Pipeline:
    """Return a pipeline whose metrics are served; nothing of it runs yet."""
    metrics = JobMetrics(settings.name)
    is_json = settings.log.format == "json"
    output = outputs.of("" if is_json else f"{settings.name}: ")
    lines = open_lines(output, settings.log.format, settings.name)
    pipeline = Pipeline(settings, lines, metrics)
    pipeline.new_job()
    own = settings.metrics
    served.enter_context(metrics_server(metrics, own.listen, own.tables_max))
    return pipeline


def _run(pipelines: Sequence[Pipeline]) -> int:
    """Start Spark, and run all pipelines until the last one ends."""
    for one in pipelines:
        one.lines.write("starting", name=one.settings.name, mirror=one.settings.mirror.path)

    def stop() -> None:
        for one in pipelines:
            one.stop()

    def stop_start() -> None:
        stop()
        raise StopRequested

    try:
        job.on_signals(stop_start)
        session = start_session(session_settings([one.settings for one in pipelines]))
        # Spark has installed its own handler for SIGINT.
        job.on_signals(stop)
    except job.START_ERRORS as error:
        return _end_without_spark(pipelines, error)
    starting = start_workers(session)
    collect_garbage_rarely()
    try:
        return run_pipelines(session, pipelines)
    finally:
        starting.join(job.WORKERS_SECONDS)
        session.stop()


def _end_without_spark(pipelines: Sequence[Pipeline], error: Exception) -> int:
    if pipelines[0].is_to_stop:
        for one in pipelines:
            one.lines.write("stopped", end_offsets={})
        return exit_codes.OK
    problem = Message(job_errors.SPARK_NOT_STARTED, {"why": error_message(error)})
    for one in pipelines:
        one.new_job().fail(problem)
    return exit_codes.FAILED


def run_pipelines(
    session: SparkSession, pipelines: Sequence[Pipeline], again_seconds: float = _AGAIN_SECONDS
) -> int:
    """Run each pipeline in a thread, with a session of its own over the same Spark.

    A listener of streams hears those of its session alone. Returns the exit code of the process.
    """
    threads = [
        threading.Thread(
            target=one.run,
            args=(session.newSession(), again_seconds),
            name=f"pipeline-{one.settings.name}",
        )
        for one in pipelines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = {one.exit_code for one in pipelines}
    return next(
        (code for code in (exit_codes.FAILED, exit_codes.REFUSED) if code in codes), exit_codes.OK
    )


class SharedOutput:
    """One output for the lines of several pipelines, each of them whole."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`."""
        self._out = out
        self._lock = threading.Lock()

    def of(self, prefix: str) -> TextIO:
        """Return an output whose lines begin with `prefix`; it is no terminal."""
        return _Lines(prefix, self._write)

    def _write(self, text: str) -> None:
        with self._lock:
            self._out.write(text)
            self._out.flush()


class _Lines(io.StringIO):
    """Hands on what is written once a line is whole."""

    def __init__(self, prefix: str, write: Callable[[str], None]) -> None:
        super().__init__()
        self._prefix = prefix
        self._hand_on = write
        self._begun = ""
        self._own = threading.Lock()

    def write(self, text: str) -> int:
        with self._own:
            *whole, self._begun = (self._begun + text).split("\n")
            if whole:
                self._hand_on("".join(f"{self._prefix}{line}\n" for line in whole))
        return len(text)
