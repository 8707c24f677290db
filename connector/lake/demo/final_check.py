"""The end of the demo: the last cut, the verdict of `verify`, and damage that it finds and repairs.

Three calls of the command, as a user makes them: one compares all mirrors, one repairs, and one
proves the topics meanwhile. The damage is a mistake of another program: one value of one row is
changed.
"""

import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from connector.lake.demo import demo_errors
from connector.lake.demo.display import Display
from connector.lake.demo.shop import DATABASE
from connector.lake.demo.stack import DemoStack
from local_stack.stack_errors import LocalStackError
from stream_jobs.cuts import Cut, cut_at, cut_errors
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.parquet_file import live_mask, rows_at, write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, MirrorError

TABLE: Final = "products"
KEY: Final = "sku"
COLUMN: Final = "price"
_CENT: Final = Decimal("0.01")


def damage(mirror: Path) -> tuple[str, Decimal, Decimal]:
    """Make one product of the `mirror` a cent dearer; return its key, the old and the new price.

    Neither the job nor its topics know of it. The shop always has products.
    """
    storage = LocalStorage(str(mirror))
    table = DeltaTable.open(storage, f"{DATABASE}/{TABLE}")
    assert table is not None
    while True:
        file = next(iter(table.snapshot.files.values()))
        positions = np.arange(file.rows, dtype=np.int64)
        if file.deletion_vector is not None:
            dead = deletion_vectors.load(storage, table.path, file.deletion_vector)
            positions = positions[live_mask(dead, file.rows)]
        columns = table.snapshot.metadata.file_columns
        row = rows_at(storage, table.path, file, columns, positions[:1])
        (key,), (price,) = row[KEY].to_pylist(), row[COLUMN].to_pylist()
        place = row.column_names.index(COLUMN)
        wrong = pa.array([price + _CENT], row[COLUMN].type)
        new = write_file(storage, table.path, columns, row.set_column(place, COLUMN, wrong))
        gone = BitMap([int(positions[0])]).serialize()
        try:
            table.commit(TableCommit(new=[new], dead={file.path: gone}), "MISTAKE")
        except CommitConflict:
            # The job has compacted files meanwhile.
            table.refresh()
            continue
        return key, price, price + _CENT


# If nothing changes any more, the job writes the last cut within ten seconds.
_CUT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1


class FinalCheck:
    """Tells the end of one demo, whose source is idle and whose mirror has caught up."""

    def __init__(self, stage: DemoStack, display: Display) -> None:
        self._stage = stage
        self._display = display
        self._mirror = ("--mirror", str(stage.directory.stream_job_config))

    def run(self, gtid_set: str) -> list[str]:
        """Report all of it; return what differs. `gtid_set` is what the source has executed."""
        say, stage = self._display.say, self._stage
        if stage.is_iceberg:
            self._wait_for_iceberg(gtid_set)
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
        if not problems and stage.is_iceberg:
            problems = self._iceberg(report)
        if not problems:
            problems = self._repair()
        proof = topics.report()
        count, expected = proof["records"]["found"], proof["records"]["expected"]
        if proof["equal"]:
            say(
                f"binlog-connector verify --topics: {count:,} changes in {stage.records_in}, each "
                "once and in order, although the connector was killed"
            )
        else:
            problems.append(f"topics: {count:,} of {expected:,} changes, {proof['differences']}")
        return problems

    def _iceberg(self, report: dict[str, Any]) -> list[str]:
        """Report the Iceberg tables; return those that are not published."""
        own = {table["table"]: table["iceberg"] for table in report["tables"] if table["iceberg"]}
        problems = [
            f"{name}: Iceberg is not compared: {found['not_compared_because']}"
            for name, found in own.items()
            if found["not_compared_because"]
        ]
        if not problems:
            rows = sum(found["rows"] for found in own.values())
            self._display.say(f"the same in {len(own)} Iceberg tables: {rows:,} rows, by metadata")
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
        for difference in table["repaired"]:
            source, mirror = difference["source"], difference["mirror"]
            display.say(
                f"binlog-connector verify --repair: {name} has a row that is {difference['kind']}"
            )
            self._detail("key", f"{KEY} {difference['key'][KEY]}")
            for column in source:
                self._detail("column", column)
                self._detail("source", source[column])
                self._detail("mirror", mirror[column])
        expected = [
            {"key": {KEY: key}, "source": {COLUMN: str(right)}, "mirror": {COLUMN: str(wrong)}}
        ]
        if [_facts(difference) for difference in table["repaired"]] != expected:
            problems.append(f"{name}: verify did not find exactly the damage of {KEY} {key}")
        if not problems:
            display.say(
                f"the stream has copied the row again; {name} is equal: {table['rows']:,} rows",
                "bold green",
            )
        return problems

    def _wait_for_iceberg(self, gtid_set: str) -> None:
        """Wait until all tables are published at a cut with all transactions."""
        deadline = time.monotonic() + _CUT_SECONDS
        while True:
            try:
                found = mirror_at(
                    str(self._stage.directory.mirror), gtid=gtid_set, format="iceberg"
                )
            except MirrorError as error:
                if error.code is not cut_errors.NO_CUT:
                    raise
            else:
                self._display.say(f"readers of Iceberg find the tag {found.tag} in all tables")
                return
            self._stage.check()
            if time.monotonic() > deadline:
                raise LocalStackError(demo_errors.STUCK, process="Spark job", seconds=_CUT_SECONDS)
            time.sleep(_LOOK_SECONDS)

    def _detail(self, name: str, value: str) -> None:
        self._display.print(f"{'':10}{name:8}{value}")

    def _cut(self, gtid_set: str) -> Cut:
        """Wait for the cut with all transactions."""
        storage = LocalStorage(str(self._stage.directory.mirror))
        deadline = time.monotonic() + _CUT_SECONDS
        while (cut := cut_at(storage, gtid=gtid_set)) is None:
            self._stage.check()
            if time.monotonic() > deadline:
                raise LocalStackError(demo_errors.STUCK, process="Spark job", seconds=_CUT_SECONDS)
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
        iceberg = table["iceberg"] or {"defects": [], "differences": []}
        lines += [f"{table['table']}: Iceberg: {defect}" for defect in iceberg["defects"]]
        lines += [f"{table['table']}: Iceberg: {row}" for row in iceberg["differences"]]
        lines += [
            f"{table['table']}: {difference['kind']} {difference['key']}: "
            f"source {difference['source']}, mirror {difference['mirror']}"
            for difference in table["differences"]
        ]
    return lines
