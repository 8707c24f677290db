"""The demo as a user runs it: a process with a pipe for its output."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from connector.lake.demo.configuration import DemoDirectory
from tests.length import FULL, length
from tests.stream_jobs.told import told

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.spark]


PROGRAM = """
import sys
from pathlib import Path
from connector.lake.demo import DemoOptions, run_demo
from connector.lake.demo.verdict import judge
# The verdict of `verify` has to be that of another program.
directory, log = sys.argv[1:]
options = DemoOptions(duration_seconds=8, directory=Path(directory), kafka=log == "Kafka")
sys.exit(run_demo(options, check=judge))
"""


GTIDS = "[0-9a-f-]{36}:1-[0-9]+"


IN_FULL = pytest.mark.skipif(not FULL, reason="a minute of CPU; `make test-all` runs it")


def start(directory: Path, log: str = "Kafka") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), log],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(demo: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    assert demo.stdout is not None
    for line in demo.stdout:
        if match := re.search(pattern, line):
            return match
    pytest.fail(f"the demo ended without saying {pattern}")


def processes_of(directory: Path) -> list[str]:
    """Return the command lines that mention a directory."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            # It ended while we looked.
            continue
        if str(directory) in text:
            found.append(text)
    return found


@pytest.mark.parametrize("log", ["Kafka", pytest.param("the log", marks=IN_FULL)])
@pytest.mark.timeout(900)
def test_verify_says_that_the_mirror_equals_the_source_although_the_connector_was_killed(
    tmp_path: Path, log: str
) -> None:
    directory = tmp_path / "demo"
    with start(directory, log) as demo:
        output, _ = demo.communicate()
    assert demo.returncode == 0, output
    assert "\nmirror equals source\n" in output
    said = rf"its last committed progress is ({GTIDS}); starting it again\n"
    committed = re.search(said, output)
    assert committed is not None
    assert f"resumed right after that: {committed[1]}\n" in output
    assert "the mirror has caught up; its last cut has 5 tables\n" in output
    assert re.search(rf"(?m)^ +as of +{GTIDS}$", output)
    assert re.search(r"(?m)^ +commit +[0-9-]{10} [0-9:.]{12}\+00:00 at the source$", output)
    assert len(re.findall(r"(?m)^shop\.\w+ +[0-9,]+ +[0-9,]+ +[0-9.]+ +equal$", output)) == 5
    assert re.search(r"(?m)^shop\.page_views +no key, no mirror$", output)
    damaged = re.search(r"another program writes price ([0-9.]+) instead of ([0-9.]+) ", output)
    assert damaged is not None
    assert "binlog-connector verify --repair: shop.products has a row that is different\n" in output
    wrong, right = damaged.groups()
    said = rf" key +sku \w{{8}}\n +column +price\n +source +{right}\n +mirror +{wrong}\n"
    assert re.search(said, output)
    assert re.search(r"the stream has copied the row again; shop.products is equal: ", output)
    assert re.search(rf"verify --topics: [0-9,]+ changes in {log}, each once and in order", output)
    in_folder = f", the log is at file://{directory}/log\n"
    assert (in_folder in output, (directory / "kafka").exists()) == (log != "Kafka", log == "Kafka")
    # Plain lines: nothing in a pipe moves a cursor or sets a colour.
    assert all(character.isprintable() or character == "\n" for character in output)
    assert output.endswith(f"data and logs are in {directory}\n")
    assert processes_of(directory) == []
    # `binlog-connector-mirror` in a process of its own, which was idle and then told to stop.
    files = DemoDirectory(directory)
    events = [told(line)["event"] for line in files.stream_job_status.read_text().splitlines()]
    assert events[0] == "starting"
    assert "idle" in events
    assert events[-1] == "stopped"
    # Java itself warns in words.
    for line in files.stream_job_log.read_text().splitlines():
        assert line.startswith("{") or "incubator modules" in line, line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM][: length(short=1, full=2)])
def test_an_interrupt_ends_everything_that_was_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    directory = tmp_path / "demo"
    with start(directory) as demo:
        read_until(demo, "database shop")
        assert processes_of(directory)
        demo.send_signal(number)
        output, _ = demo.communicate()
    assert demo.returncode == 130
    assert "interrupted; everything is stopped\n" in output
    assert "Traceback" not in output
    assert processes_of(directory) == []


@IN_FULL
def test_a_process_that_dies_by_itself_ends_the_demo_with_the_end_of_its_log(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "demo"
    with start(directory) as demo:
        up = read_until(demo, "both are up: connector pid ([0-9]+)")
        os.kill(int(up[1]), signal.SIGKILL)
        output, _ = demo.communicate()
    assert demo.returncode == 1
    log = directory / "connector.log"
    assert f"error: [P141] connector ended; read the end of {log}:\n" in output
    assert '"message": "streaming"' in output
    assert output.endswith(f"data and logs are in {directory}\n")
    assert processes_of(directory) == []
