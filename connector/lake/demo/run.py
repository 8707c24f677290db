"""The course of the demo: servers, shop, pipeline, a kill, and the finale.

Each part is a separate process, started as a user starts it; the demo only watches.
"""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pymysql
from deltalake.exceptions import DeltaError
from kafka.errors import KafkaError

from connector.foundation import compiled
from connector.foundation.errors import ConnectorError
from connector.lake.demo import demo_errors
from connector.lake.demo.configuration import DemoDirectory, DemoOptions
from connector.lake.demo.display import Display
from connector.lake.demo.final_check import FinalCheck
from connector.lake.demo.shop import ADD_COLUMN, DATABASE, KEYLESS_TABLE, MIRRORED_TABLES, TABLES
from connector.lake.demo.stack import DemoStack, access_commands
from connector.lake.demo.verdict import Verdict
from local_stack.stack_errors import LocalStackError

# Gets the stage, and the GTIDs that the source has executed.
Check = Callable[[DemoStack, str], Verdict]

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
NEXT = "next, with a server and a Kafka of your own:"
NEXT_COMMANDS = (
    ".venv/bin/binlog-connector config --minimal > my.toml   # the few keys that you must set",
    ".venv/bin/binlog-connector check my.toml                # what your server lacks, and the fix",
    ".venv/bin/binlog-connector run my.toml",
    "docs/tasks/first-stream.md tells each step",
)
NEXT_WITHOUT_BROKER = "next, with a server of your own:"
COMMANDS_WITHOUT_BROKER = (
    ".venv/bin/binlog-connector up mysql://cdc@db/shop --to lake",
    "docs/tasks/up.md tells what it does, and docs/tasks/without-kafka.md what a folder cannot do",
)

# Shares of the workload's duration.
ADD_COLUMN_AT = 0.3
KILL_AT = 0.5
DOWN_SHARE = 0.1
DOWN_SECONDS = 2.0  # at most

LOOK_SECONDS = 1.0
WAIT_SECONDS = 0.5
START_SECONDS = 120.0
# A first batch takes 10 s on an idle machine with two cores; on a busy one it may take longer.
STUCK_SECONDS = 300.0


def run_demo(
    options: DemoOptions, display: Display | None = None, check: Check | None = None
) -> int:
    """Run the demo; return 0 if the mirror equals the source, else another exit code.

    At the end, also after Ctrl-C and SIGTERM, it stops everything that it started. `check` is for
    tests: it judges the idle stage once more, after `verify`.
    """
    display = display or Display()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory: Path | None = None
    try:
        directory = _make_directory(options.directory)
        with DemoStack(options, DemoDirectory(directory)) as stage:
            code = _DemoRun(options, stage, display, check).run()
    except KeyboardInterrupt:
        display.say("interrupted; everything is stopped")
        code = EXIT_INTERRUPTED
    except (ConnectorError, pymysql.err.Error, KafkaError, DeltaError) as error:
        display.print(f"error: {error}", "bold red")
        code = EXIT_FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
    if directory is not None and options.directory is None and code != EXIT_FAILED:
        shutil.rmtree(directory, ignore_errors=True)
    elif directory is not None:
        display.print(f"data and logs are in {directory}")
    return code


def _make_directory(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="binlog-connector-demo-"))
    wanted.mkdir(parents=True, exist_ok=True)
    if any(wanted.iterdir()):
        raise LocalStackError(demo_errors.DIRECTORY, directory=wanted)
    return wanted.absolute()


def require_same(resumed: str | None, committed: str) -> None:
    """Raise LocalStackError unless the connector `resumed` where it had `committed`."""
    if resumed != committed:
        raise LocalStackError(demo_errors.RESUMED_ELSEWHERE, resumed=resumed, committed=committed)


def lag_words(lags: Sequence[float]) -> str:
    """Say how long changes took from the source into the mirror; `lags` are those of batches."""
    if not lags:
        return "no change reached the mirror"
    return (
        f"changes were in the mirror {median(lags):.1f} s after their commit at the source "
        f"(median of {len(lags)} batches; {max(lags):.1f} s at most)"
    )


class StallTimeout:
    """Limits a wait for a process: it may last as long as the state of the process changes."""

    def __init__(self, process: str, state: object) -> None:
        """Begin to wait for `process`, whose state is `state`."""
        self._process = process
        self._state = state
        self._deadline = time.monotonic() + STUCK_SECONDS

    def look(self, state: object) -> None:
        """Raise LocalStackError if the state has been the same for too long."""
        now = time.monotonic()
        if state != self._state:
            self._state, self._deadline = state, now + STUCK_SECONDS
        elif now > self._deadline:
            raise LocalStackError(demo_errors.STUCK, process=self._process, seconds=STUCK_SECONDS)


class _DemoRun:
    """One run, from the first server to the finale."""

    def __init__(
        self, options: DemoOptions, stage: DemoStack, display: Display, check: Check | None = None
    ) -> None:
        self._check = check
        self._options = options
        self._stage = stage
        self._display = display
        self._trade_begin = 0.0

    def run(self) -> int:
        """Run all phases; return the exit code."""
        self._set_the_stage()
        with self._display.board():
            self._trade()
            gtid_set = self._catch_up()
        problems = FinalCheck(self._stage, self._display).run(gtid_set)
        if self._check is not None:
            problems += self._check(self._stage, gtid_set).problems
        self._pronounce(problems)
        if self._options.keep:
            self._stay()
        self._say("stopping everything")
        return EXIT_FAILED if problems else 0

    def _say(self, text: str, style: str = "") -> None:
        self._display.say(text, style)

    def _set_the_stage(self) -> None:
        stage = self._stage
        self._say(f"the connector runs {compiled.description()}")
        broker = ", Kafka" if self._options.kafka else ""
        self._say(f"starting the source{broker} and the Spark job in {stage.directory.path}")
        stage.start_source()
        stage.start_kafka()
        stage.start_stream_job()
        self._say(
            f"{stage.log.name} answers at {stage.source.bootstrap}, "
            f"{stage.records_in} {'is' if stage.is_without_broker else 'answers'} at "
            f"{stage.bootstrap}"
        )
        stage.start_connector()
        self._say(
            f"database {DATABASE}: {len(MIRRORED_TABLES)} tables with a primary key; "
            f"{KEYLESS_TABLE} has none: its changes go to {stage.records_in}, no mirror is kept"
        )
        self._wait_until(lambda: stage.connector.resumed_after() is not None, "connector")
        stage.connector_state = f"pid {stage.connector.pid}, streaming"
        self._wait_until(lambda: stage.stream_job.status().started, "Spark job")
        connector, job = stage.connector.pid, stage.stream_job.pid
        self._say(f"both are up: connector pid {connector}, Spark job pid {job}")

    def _wait_until(self, there: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not there():
            self._stage.stream_job.check()
            self._stage.connector.check()
            if time.monotonic() > deadline:
                raise LocalStackError(demo_errors.NO_START, process=name, seconds=START_SECONDS)
            time.sleep(WAIT_SECONDS)

    def _trade(self) -> None:
        """Run the workload, with a new column and a kill on the way."""
        stage, duration = self._stage, self._options.duration_seconds
        stage.start_workload()
        self._say(f"workload: {self._options.rate:g} transactions a second for {duration:g} s")
        self._trade_begin = time.monotonic()
        self._trade_until(ADD_COLUMN_AT)
        stage.workload.add_column()
        self._say(ADD_COLUMN)
        self._trade_until(KILL_AT)
        self._kill_connector()
        self._trade_until(1.0)
        stage.workload.stop()
        stage.workload.check()
        self._say(f"workload stopped after {stage.workload.transactions:,} transactions")

    def _trade_until(self, share: float, done: Callable[[], bool] = lambda: False) -> None:
        """Show the numbers until a share of the duration is over, or all of it."""
        stage, duration = self._stage, self._options.duration_seconds
        while not done():
            passed = time.monotonic() - self._trade_begin
            if passed >= share * duration:
                return
            stage.check()
            phase = f"workload, {passed:.0f} of {duration:g} s"
            self._display.show(stage.look(phase, passed / duration))
            time.sleep(min(LOOK_SECONDS, share * duration - passed))

    def _kill_connector(self) -> None:
        stage, connector = self._stage, self._stage.connector
        pid = connector.pid
        connector.kill()
        stage.connector_state = f"pid {pid}, killed"
        self._say(f"SIGKILL to the connector, pid {pid}", "bold yellow")
        self._trade_until(KILL_AT + min(DOWN_SHARE, DOWN_SECONDS / self._options.duration_seconds))
        # Read now: Kafka makes a commit visible shortly after it has accepted it.
        committed = stage.committed_gtids()
        self._say(f"its last committed progress is {committed}; starting it again")
        connector.start()
        stage.connector_state = f"pid {connector.pid}, starting again"
        resumed: str | None = None

        def streams_again() -> bool:
            nonlocal resumed
            resumed = connector.resumed_after()
            return resumed is not None

        self._trade_until(1.0, streams_again)
        if resumed is None:
            self._wait_until(streams_again, "connector")
        require_same(resumed, committed)
        stage.connector_state = f"pid {connector.pid}, streaming, resumed where it had committed"
        self._say(
            f"the connector, now pid {connector.pid}, resumed right after that: {resumed}",
            "bold green",
        )

    def _catch_up(self) -> str:
        """Wait until the mirror has all transactions of the source; return their GTIDs."""
        stage = self._stage
        executed = stage.log.executed()

        self._wait_for(
            "connector",
            lambda: stage.has_committed(executed),
            stage.committed_gtids,
        )
        ends = stage.topics.ends(DATABASE, TABLES)
        self._wait_for(
            "Spark job",
            lambda: stage.stream_job.status().reaches(ends),
            lambda: stage.stream_job.status().batches,
        )
        return executed

    def _wait_for(
        self, name: str, caught_up: Callable[[], bool], state: Callable[[], object]
    ) -> None:
        """Show the numbers until a process is done, as long as its `state` changes."""
        patience = StallTimeout(name, state())
        while not caught_up():
            self._stage.check()
            self._display.show(self._stage.look(f"waiting for the {name} to catch up"))
            patience.look(state())
            time.sleep(WAIT_SECONDS)

    def _pronounce(self, problems: Sequence[str]) -> None:
        display = self._display
        display.print()
        for problem in problems:
            display.print(problem, "red")
        if problems:
            display.print("mirror DIFFERS from source", "bold red")
        else:
            display.print("mirror equals source", "bold green")
            display.print(f"  {lag_words(self._stage.stream_job.status().lags)}")
        display.print(f"  after {display.seconds:.0f} seconds")
        display.print()
        if not problems:
            with_kafka = self._options.kafka
            display.print(NEXT if with_kafka else NEXT_WITHOUT_BROKER, "bold")
            for command in NEXT_COMMANDS if with_kafka else COMMANDS_WITHOUT_BROKER:
                display.print(f"  {command}")
            display.print()

    def _stay(self) -> None:
        display, stage = self._display, self._stage
        for what, command in access_commands(stage):
            display.print(f"{what}:", "bold")
            display.print(f"  {command}")
        display.print()
        display.print("Everything stays up, and changes go on to arrive. Ctrl-C ends it.", "bold")
        try:
            while True:
                stage.check()
                time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt:
            display.print()
