"""`up`: tables in a folder that follow a source, by one command and without a broker."""

from __future__ import annotations

import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from subprocess import call
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from connector.cli import command_errors
from connector.cli.check import check_sources
from connector.cli.exit_codes import EXIT_INTERRUPTED, errors, say, tell_all, warn
from connector.cli.log_input import password_of, refuse_contradictions
from connector.foundation.errors.message import Message, visible
from connector.foundation.formatting import abbreviated, amount, clock, listed
from connector.foundation.settings.sections import KafkaSettings, Settings, SourceSettings
from connector.lake.lake_folder import PIPELINE, LakeFolder, LakeOptions
from connector.lake.lake_start import lake_of, login_in_environment, options_of, running
from connector.stream.status.terminal import render_status

if TYPE_CHECKING:
    from connector.lake.lake_pipeline import LakePipeline
    from stream_jobs.cuts import Cut

_LOOK_SECONDS = 1.0


def run(arguments: Namespace) -> int:
    """Keep the tables of a folder equal to those of a source; return the exit code."""
    _refuse_contradictions(arguments)
    options = None if arguments.source is None else _options(arguments)
    folder = lake_of(arguments.to, options)
    if arguments.show_config:
        return _show_config(folder, options)
    try:
        with _ended_by_signals(), running(folder, options, _check, _tell) as pipeline:
            _tell_start(folder)
            code = _once(pipeline, arguments) if arguments.once else _follow(pipeline)
    except KeyboardInterrupt:
        errors().print("stopped; the same command resumes", style="dim")
        # A scheduler takes 0 for tables that have everything.
        code = EXIT_INTERRUPTED if arguments.once else 0
    return code


def _refuse_contradictions(arguments: Namespace) -> None:
    of_source = arguments.tables, arguments.format, arguments.password_env, arguments.listen
    given = any(each is not None for each in of_source)
    refuse_contradictions(
        (
            (command_errors.NEEDS_URL, arguments.source is None and given),
            (command_errors.NEEDS_ONCE, arguments.verify and not arguments.once),
        )
    )


def _options(arguments: Namespace) -> LakeOptions:
    """Return what the user has chosen; asks for a password on a terminal, if nothing gives one."""
    password = None
    if arguments.password_env is not None or not login_in_environment():
        password = password_of(arguments.source, arguments.password_env)
    is_iceberg = arguments.format in ("iceberg", "both")
    return options_of(
        arguments.source,
        password,
        arguments.tables or [],
        iceberg=is_iceberg,
        listen=arguments.listen,
    )


def _show_config(folder: LakeFolder, options: LakeOptions | None) -> int:
    files = folder.files() if options is None or folder.is_lake else folder.new_files(options)
    for path, text in files.items():
        say(f"# {path}\n{text}")
    return 0


def _tell(message: Message) -> None:
    warn(str(message))


def _check(source: SourceSettings) -> None:
    """Raise what keeps the source from being followed, after it is shown with what fixes it."""
    kafka = KafkaSettings(bootstrap_servers=["127.0.0.1:9092"], topic_prefix=PIPELINE)
    # As it is: variables of the environment would replace parts of this source.
    settings = Settings.model_construct(name=PIPELINE, source=source, kafka=kafka)
    findings = Console(file=StringIO(), highlight=False, width=Console().width)
    problems = check_sources(settings, findings, errors())
    if not problems:
        return
    assert isinstance(findings.file, StringIO)
    sys.stdout.write(findings.file.getvalue())
    tell_all(problems)


def _tell_start(folder: LakeFolder) -> None:
    text = f"tables: {folder.path}/DATABASE/TABLE, configuration and logs: {folder.state}"
    say(visible(text))


def _follow(pipeline: LakePipeline) -> int:
    """Show what both programs do until Ctrl-C or SIGTERM."""
    with _display(pipeline) as show:
        while True:
            pipeline.check()
            show()
            time.sleep(_LOOK_SECONDS)


def _once(pipeline: LakePipeline, arguments: Namespace) -> int:
    """Wait until the tables have what is committed now; then compare them, if that is wanted."""
    with _display(pipeline) as show:
        cut = pipeline.catch_up(show)
        show()
        if not arguments.verify:
            pipeline.require_all(cut, show)
            return 0
    folder = pipeline.folder
    command = [sys.executable, "-m", "connector", "verify", str(folder.connector_config)]
    return call([*command, "--mirror", str(folder.job_config)])  # noqa: S603 - our own program


@contextmanager
def _display(pipeline: LakePipeline) -> Iterator[Callable[[], None]]:
    """Yield what shows the state: as a picture that changes on a terminal, else as lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        yield LakeLines(pipeline).show
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show() -> None:
            live.update(picture(pipeline), refresh=True)

        yield show


def picture(pipeline: LakePipeline) -> RenderableType:
    """Return what a terminal shows: what is wrong, the last cut, and the state of both programs."""
    status, problem, cut = pipeline.status(), pipeline.folder.problem, pipeline.last_cut()
    parts: list[RenderableType] = []
    if problem is not None:
        parts.append(Text(visible(str(problem)), "bold red"))
    if cut is not None:
        parts.append(_cut_line(cut, 0.0 if status is None else status.at))
    parts.append(Text("starting …") if status is None else render_status(status))
    return Group(*parts)


def _cut_line(cut: Cut, now: float) -> Text:
    """Return number, tables, and the latest transaction of a cut with its time at the source."""
    said = f"{cut.number}: {amount(len(cut.tables), 'table')} at "
    if cut.source_time_ms is not None:
        said += f"{clock(cut.source_time_ms / 1000, now)} UTC, "
    at = abbreviated(cut.gtid) or cut.position
    return Text.assemble(("last cut  ", "dim"), visible(said + at))


class LakeLines:
    """Says what has changed, a line for each thing."""

    def __init__(self, pipeline: LakePipeline) -> None:
        self._pipeline = pipeline
        self._problem = ""
        self._state = ""
        self._tables: set[str] = set()
        self._cut = 0

    def show(self) -> None:
        """Say what is new."""
        problem = str(self._pipeline.folder.problem or "")
        if problem and not self._problem:
            warn(problem)
        self._problem = problem
        status = self._pipeline.status()
        if status is None:
            return
        first = status.state
        if first.state.words != self._state:
            self._state = first.state.words
            say(visible(f"{first.state.words}: {first.reason}"))
        cut = self._pipeline.last_cut()
        if cut is not None and cut.number != self._cut:
            self._cut = cut.number
            at = cut.gtid or cut.position
            if new := sorted(cut.tables.keys() - self._tables):
                self._tables.update(new)
                say(visible(f"new tables: {listed(new)}"))
            say(visible(f"cut {cut.number}: {amount(len(cut.tables), 'table')} at {at}"))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
