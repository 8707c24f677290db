"""The end of the demo: the last cut, the verdict of `verify`, and damage that it finds and repairs.

Three calls of the command, as a user makes them: one compares all mirrors, one repairs, and one
proves the topics meanwhile.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from connector.errors import LocalStackError, local_demo
from local_stack.demo.damage import COLUMN, KEY, TABLE, damage
from local_stack.demo.shop import DATABASE
from stream_jobs.cuts import cut_at
from stream_jobs.delta.local_storage import LocalStorage

if TYPE_CHECKING:
    from local_stack.demo.display import Display
    from local_stack.demo.stage import Stage
    from stream_jobs.cuts import Cut

# If nothing changes any more, the job writes the last cut within ten seconds.
_CUT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1


class Finale:
    """Tells the end of one demo, whose source is idle and whose mirror has caught up."""

    def __init__(self, stage: Stage, display: Display) -> None:
        """Tell it on `display`."""
        self._stage = stage
        self._display = display
        self._mirror = ("--mirror", str(stage.directory.stream_job_config))

    def tell(self, gtid_set: str) -> list[str]:
        """Tell all of it; return what differs. `gtid_set` is what the source has executed."""
        say, stage = self._display.say, self._stage
        tables, topics = stage.verify(*self._mirror), stage.verify("--topics")
        cut = self._cut(gtid_set)
        at = datetime.fromtimestamp((cut.source_time_ms or 0) / 1000, UTC)
        say(f"the mirror has caught up; its last cut has {len(cut.tables)} tables")
        self._detail("as of", str(cut.gtid))
        self._detail("commit", f"{at.isoformat(' ', 'milliseconds')} at the source")
        report = tables.report()
        say("binlog-connector verify: every row and every column of source and mirror")
        self._display.print()
        header = ("table", "source rows", "mirror rows", "seconds", "verdict")
        self._display.print_table(header, [_line(table) for table in report["tables"]])
        self._display.print()
        problems = _problems(report)
        if not problems:
            problems = self._repair()
        proof = topics.report()
        found, expected = proof["records"]["found"], proof["records"]["expected"]
        if proof["equal"]:
            say(
                f"binlog-connector verify --topics: {found:,} changes in Kafka, each once and in "
                "order, although the connector was killed"
            )
        else:
            problems.append(f"topics: {found:,} of {expected:,} changes, {proof['differences']}")
        return problems

    def _repair(self) -> list[str]:
        """Damage the mirror, and let `verify` find and repair it; return what is left."""
        display, name = self._display, f"{DATABASE}.{TABLE}"
        key, right, wrong = damage(self._stage.directory.mirror)
        display.say(
            f"damage: another program writes {COLUMN} {wrong} instead of {right} into the mirror "
            f"of {name}",
            "bold yellow",
        )
        report = self._stage.verify(*self._mirror, name, "--repair").report()
        (table,) = report["tables"]
        problems = _problems(report)
        for each in table["repaired"]:
            source, mirror = each["source"], each["mirror"]
            display.say(
                f"binlog-connector verify --repair: {name} has a row that is {each['kind']}"
            )
            self._detail("key", f"{KEY} {each['key'][KEY]}")
            for column in source:
                self._detail("column", column)
                self._detail("source", source[column])
                self._detail("mirror", mirror[column])
        expected = [
            {"key": {KEY: key}, "source": {COLUMN: str(right)}, "mirror": {COLUMN: str(wrong)}}
        ]
        if [_facts(each) for each in table["repaired"]] != expected:
            problems.append(f"{name}: verify did not find exactly the damage of {KEY} {key}")
        if not problems:
            display.say(
                f"the stream has copied the row again; {name} is equal: {table['rows']:,} rows",
                "bold green",
            )
        return problems

    def _detail(self, name: str, value: str) -> None:
        self._display.print(f"{'':10}{name:8}{value}")

    def _cut(self, gtid_set: str) -> Cut:
        """Wait for the cut with all transactions."""
        storage = LocalStorage(str(self._stage.directory.mirror))
        deadline = time.monotonic() + _CUT_SECONDS
        while (cut := cut_at(storage, gtid=gtid_set)) is None:
            self._stage.check()
            if time.monotonic() > deadline:
                raise LocalStackError(local_demo.STUCK, process="Spark job", seconds=_CUT_SECONDS)
            time.sleep(_LOOK_SECONDS)
        return cut


def _facts(difference: dict[str, Any]) -> dict[str, Any]:
    return {name: difference[name] for name in ("key", "source", "mirror")}


def _line(table: dict[str, Any]) -> tuple[str, ...]:
    if table["verdict"] == "not compared":
        return (table["table"], "", "", "", "no key, no mirror")
    counts = (f"{table['rows']:,}", f"{table['mirror_rows']:,}", f"{table['seconds']:.1f}")
    return (table["table"], *counts, table["verdict"])


def _problems(report: dict[str, Any]) -> list[str]:
    """Return what a report of `verify` has found, a line each."""
    lines = []
    for table in report["tables"]:
        if table["verdict"] not in {"equal", "not compared"}:
            lines.append(
                f"{table['table']}: {table['verdict']}: {table['error'] or ''}".rstrip(": ")
            )
        lines += [
            f"{table['table']}: {each['kind']} {each['key']}: source {each['source']}, "
            f"mirror {each['mirror']}"
            for each in table["differences"]
        ]
    return lines
