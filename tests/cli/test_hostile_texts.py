"""No command of the two programs lets a name or a text steer the terminal, or begin a line.

Each command is here with what it shows of others, or with the test that plays it.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from rich.console import Console

from connector.cli.check import _table as table_of_findings
from connector.cli.check import show_row_gaps
from connector.cli.commands import COMMANDS as OF_CONNECTOR
from connector.cli.commands import execute
from connector.cli.configuration import configure_logging
from connector.cli.exit_codes import errors
from connector.cli.log import print_moved
from connector.cli.quarantine import _table as table_of_fences
from connector.cli.snapshot import _tell_end
from connector.cli.up import LakeLines
from connector.cli.verify_mirror import _print as print_results
from connector.cli.verify_topics import _print
from connector.foundation.errors import ConfigError, SourceRefused
from connector.foundation.errors.message import Message, visible_json
from connector.foundation.settings.sections import LogSettings
from connector.lake import lake_errors
from connector.replication import answer_errors
from connector.stream.quarantine.fences import Fence
from connector.stream.snapshot.table_state import TableState
from connector.stream.source import table_errors
from connector.stream.source.findings import Finding, RowLoggingGap, Severity
from connector.stream.status.model import Condition, Level, State
from stream_jobs.__main__ import main as mirror
from stream_jobs.apply.modes import MODES
from stream_jobs.cuts.cut import Cut, CutStore, CutTable
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.replica.loop import ReplicaLines
from stream_jobs.run import arguments as arguments_of_mirror
from stream_jobs.run.commands import drop_shards, show_cuts
from stream_jobs.run.console_lines import TerminalLines
from stream_jobs.run.job_state import JobStatus, RunFailure
from stream_jobs.run.overview import SET_ASIDE, TableStatus
from stream_jobs.run.status import _job_lines, print_tables
from stream_jobs.run.status_lines import StatusLines
from stream_jobs.settings import KafkaSettings, MirrorSettings, Settings
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles
from tests.stream.status.examples import facts_with
from tests.stream_jobs.topics import column
from verification.report import Difference, TableResult
from verification.topics.outcome import EpochOutcome, Example, Outcome, Place, TopicCounts

if TYPE_CHECKING:
    from collections.abc import Callable

# It clears the screen, is markup of rich, begins a line of its own, and turns the direction.
HOSTILE = "t\x1b[2J\x07[/x]\nforged \u202e\x9b31m"
_HOSTILE_CHARACTERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
_ROOT = Path(__file__).parents[2]


def _run(_: Path) -> None:
    for form in ("console", "json"):
        configure_logging(LogSettings(format=form))
        structlog.get_logger().info("copying", table=HOSTILE, tables={HOSTILE: [HOSTILE]})
    structlog.reset_defaults()


def _check(_: Path) -> None:
    not_seen = Message(table_errors.NOT_SEEN, {"rights": "SUPER"})
    gap = RowLoggingGap("row images: PKE", Message(table_errors.NO_KEY, {}), ((HOSTILE, HOSTILE),))
    show_row_gaps(Console(), [gap], not_seen)
    found = Finding(HOSTILE, HOSTILE, HOSTILE, ok=False, problem=not_seen, severity=Severity.ERROR)
    Console(width=200).print(table_of_findings([found]))


def _snapshot(_: Path) -> None:
    for phase in ("failed", "complete"):
        state = TableState("db", HOSTILE, phase, error=HOSTILE, kept_back=1)
        _tell_end(state, Console())


def _verify(_: Path) -> None:
    key = {HOSTILE: HOSTILE}
    refused = SourceRefused(answer_errors.UNKNOWN, server=HOSTILE, number=9, said=HOSTILE)
    results = [
        TableResult(HOSTILE, differences=[Difference("missing", key, key, None)]),
        TableResult(HOSTILE, error=refused, sample=HOSTILE),
    ]
    print_results(results, with_values=True, shows_all=True)
    place = Place(HOSTILE, 4, HOSTILE)
    outcome = Outcome(
        epochs=[
            EpochOutcome(1, HOSTILE, "", unproven=HOSTILE),
            EpochOutcome(2, HOSTILE, "", place, place, unproven=HOSTILE),
        ],
        topics={HOSTILE: TopicCounts(kept_since={0: HOSTILE})},
        examples=[Example("missing", HOSTILE, 0, 1, HOSTILE, HOSTILE, HOSTILE)],
    )
    outcome.of(HOSTILE).differences["missing"] += 1
    _print(outcome)
    sys.stdout.write(visible_json(outcome.as_json()) + "\n")


def _explain(_: Path) -> None:
    with pytest.raises(SystemExit):
        execute(["explain", f"{HOSTILE} qqqq wwww zzzz"])


def _quarantine(_: Path) -> None:
    fence = Fence(HOSTILE, HOSTILE, HOSTILE, [HOSTILE], HOSTILE, "1", 0, HOSTILE)
    Console(width=400).print(table_of_fences([fence]))


def _log(_: Path) -> None:
    print_moved(1, [HOSTILE], Path(HOSTILE))


def _mirror_run(_: Path) -> None:
    reported = {HOSTILE: {"changes": 1, "lag_seconds": 1.0}}
    for lines in (
        StatusLines(sys.stdout, HOSTILE),
        TerminalLines(sys.stdout),
        TerminalLines(sys.stdout, Console(force_terminal=True, color_system=None)),
    ):
        lines.doing(HOSTILE)
        lines.write("table_quarantined", table=HOSTILE, error="e", code="M101")
        lines.write("table_resumed", table=HOSTILE)
        lines.write("odd", table=HOSTILE, names=[HOSTILE], by={HOSTILE: HOSTILE})
        batch: dict[str, Any] = {"batch_id": 1, "seconds": 1.0, "phases": {}, "records": 1}
        totals = {"tables": 1, "changes": 1, "lag_seconds": 1.0}
        lines.write("batch_applied", **batch, tables=reported, totals=totals)


def _mirror_status(_: Path) -> None:
    failure = RunFailure("2026-11-27T00:00:00+00:00", "M101", HOSTILE)
    job = JobStatus("failed", HOSTILE, HOSTILE, 1, "x", "y", "processingTime", failure)
    aside = TableStatus(HOSTILE, HOSTILE, SET_ASIDE, code="M101", reason=HOSTILE)
    console = Console(width=400)
    for line in _job_lines(job):
        console.print(line)
    print_tables([aside], Path("job.toml"), console)


def _settings(folder: Path) -> Settings:
    kafka = KafkaSettings(bootstrap_servers=["unused:1"], topic_prefix="shop")
    return Settings(name="shop", kafka=kafka, mirror=MirrorSettings(path=str(folder)))


def _mirror_cuts(folder: Path) -> None:
    cut = Cut("0" * 38, "mysql", HOSTILE, HOSTILE, 1, 1, {}, {HOSTILE: HOSTILE}, 1)
    CutStore(LocalStorage(str(folder))).put(cut)
    for as_json in (False, True):
        show_cuts(_settings(folder), sys.stdout, as_json=as_json)


def _mirror_replica(_: Path) -> None:
    cut: dict[str, Any] = {"cut": 1, "seconds": 1.0, "tables": 1, "deleted": 1, "inserted": 1}
    for form in ("console", "json"):
        lines = ReplicaLines(sys.stdout, form, HOSTILE)
        lines.write("started", target=HOSTILE, mirror=HOSTILE)
        named = {"loaded": [HOSTILE], "left_out": {HOSTILE: HOSTILE}, "lag_seconds": 1.0}
        lines.write("cut_applied", **cut, **named)


def _mirror_resume(folder: Path) -> None:
    config = folder / "job.toml"
    config.write_text(
        f'name = "shop"\n[kafka]\nbootstrap_servers = ["unused:1"]\ntopic_prefix = "shop"\n'
        f'[mirror]\npath = "{folder}"\n'
    )
    files = QuarantineFiles(LocalStorage(str(folder)), str(folder))
    files.put(QuarantinedTable("shop.t", HOSTILE, "1", "x", "M101", HOSTILE, 0, 1, {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["mirror", "resume", str(config), "--all"])
        assert mirror() == 0


def _up(_: Path) -> None:
    facts = facts_with(Condition(State.COPYING, Level.WARNING, HOSTILE))
    cut = Cut("1", "mysql", HOSTILE, "", None, 1, {HOSTILE: CutTable("t", 1, "x")}, {}, number=1)
    folder = SimpleNamespace(problem=Message(lake_errors.DISK_FULL, {"folder": HOSTILE}))
    pipeline: Any = SimpleNamespace(folder=folder, last_cut=lambda: cut, status=lambda: facts)
    LakeLines(pipeline).show()


COMMANDS: dict[str, Callable[[Path], None] | str] = {
    "up": _up,
    "run": _run,
    "check": _check,
    "status": "tests/stream/status/test_terminal.py",
    "config": "tests/cli/test_config.py",  # it has nothing of others
    "import-debezium": "tests/cli/test_import_debezium.py",
    "snapshot": _snapshot,
    "verify": _verify,
    "explain": _explain,
    "rules": "tests/integration/logging_rules/test_rules_command.py",
    "demo": "tests/lake/demo/test_display.py",
    "dump": "tests/logs/dump/test_hostile_names.py",
    "stat": "tests/logs/dump/test_hostile_names.py",
    "flashback": "tests/logs/dump/test_hostile_names.py",
    "quarantine": _quarantine,
    "log": _log,
}


def _mirror_drop_shards(folder: Path) -> None:
    mirror_of_shards = MergedTable(LocalStorage(str(folder)), "shop/t")
    sequence, chosen = PackedSequence(1, 1), Shard("shard", HOSTILE, HOSTILE)
    columns = (column("id", "int", key=1),)
    options = TableOptions(place=("shop", HOSTILE), shard=chosen)
    schema = TableSchema("shop", HOSTILE, "s", sequence, columns, chosen=options)
    progress = Progress("s", sequence, 1).write()
    mirror_of_shards.add(schema, all_columns(schema), progress, {}, MODES["current"])
    shared = _settings(folder).model_copy(
        update={"mirror": MirrorSettings(path=str(folder), shared=True)}
    )
    with pytest.raises(ConfigError) as caught:
        drop_shards(shared, "none", None, sys.stdout, confirmed=False)
    sys.stdout.write(f"{caught.value}\n")
    for confirmed in (False, True):
        drop_shards(shared, HOSTILE, None, sys.stdout, confirmed=confirmed)


OF_MIRROR: dict[str, Callable[[Path], None]] = {
    "run": _mirror_run,
    "status": _mirror_status,
    "cuts": _mirror_cuts,
    "replica": _mirror_replica,
    "resume": _mirror_resume,
    "drop-shards": _mirror_drop_shards,
}


def test_every_command_is_here() -> None:
    assert set(COMMANDS) == set(OF_CONNECTOR)
    assert set(OF_MIRROR) == set(arguments_of_mirror.COMMANDS)
    for each in COMMANDS.values():
        assert not isinstance(each, str) or (_ROOT / each).is_file()


@pytest.mark.parametrize(
    "show",
    [*(each for each in COMMANDS.values() if callable(each)), *OF_MIRROR.values()],
    ids=lambda show: show.__name__,
)
def test_a_name_neither_steers_the_terminal_nor_begins_a_line(
    show: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", out)
    errors.cache_clear()
    try:
        show(tmp_path)
    finally:
        errors.cache_clear()
    # The program itself takes back the last line of a terminal.
    text = out.getvalue().replace("\r\x1b[2K", "\n").replace("\x1b[1G", "").replace("\x1b[0G", "")
    assert "forged" in text or "t\\x1b[2J" in text
    assert _HOSTILE_CHARACTERS.findall(text) == []
    assert [line for line in text.splitlines() if line.lstrip().startswith("forged")] == []


def test_json_is_the_same_value_and_keeps_letters() -> None:
    assert visible_json({"a": "naïve 表"}) == '{"a": "naïve 表"}'
    assert json.loads(visible_json([HOSTILE, "é\U000e0001"])) == [HOSTILE, "é\U000e0001"]
    assert visible_json([HOSTILE]).isprintable()
    assert visible_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'
