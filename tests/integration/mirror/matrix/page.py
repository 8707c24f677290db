"""Writes docs/schema-changes.md from a run on every server: `make schema-changes`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local_stack import KafkaBroker, MariadbServer, MysqlServer
from tests.integration.mirror.conftest import reader_session
from tests.integration.mirror.matrix.column_changes import COLUMN_CHANGES
from tests.integration.mirror.matrix.run import MatrixRun
from tests.integration.mirror.matrix.table_changes import TABLE_CHANGES
from tests.stream_jobs.iceberg.independent_readers import (
    library_readers,
    spark_iceberg_reader,
    spark_readers,
)
from tests.stream_jobs.iceberg.reader_table import line, made, require
from tests.stream_jobs.iceberg.spark_iceberg import SparkIceberg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from local_stack import Server
    from tests.integration.mirror.matrix.change import Change
    from tests.stream_jobs.iceberg.reader_table import Reader

PAGE: Final = Path(__file__).parents[4] / "docs" / "schema-changes.md"
CHANGES: Final = (*COLUMN_CHANGES, *TABLE_CHANGES)
SERVERS: Final[dict[str, Callable[[Path], Server]]] = {
    "MySQL 8.0": MysqlServer,
    "MySQL 9": partial(MysqlServer, version="9"),
    "MariaDB 11.8": MariadbServer,
}
_NOT_RUN: Final = {change.key: "not run" for change in CHANGES}
_HEAD = """# What the mirror does when the source changes its schema

Each line was run on each server: a table with rows and its mirror, the statements, then an update,
a delete and an insert. At the end SELECT and the mirror, read by delta-rs, had the same columns in
the same order, and the same values, and PyIceberg, Polars and DuckDB read the same rows from the
Iceberg table; `make all-readers` adds the [readers](tables.md#readers) of the JVM.
A table is "copied again" by the
[connector](schemas.md#which-alter-table-keeps-the-rows). A mirror of this MariaDB server has no
[generated columns](schemas.md#generated-columns).

`make schema-changes` runs all of them and writes this page.

| word | what the mirror did |
|---|---|
| nothing to do | it has the same columns and the same rows |
| columns only | the columns are others; no file was written again |
| rewritten | all files were written again, in the commit that changed the columns |
| copied again | the rows were gone in one commit, and came again as a copy |
| emptied | the rows were gone in one commit |
| with the next row | its columns [wait](schemas.md#columns-without-a-later-row) for a row |
| set aside (M…) | it stays as it was, with this [error](errors.md#m-mirror) |
| not there | this server does not accept the statement |
"""


def page(words: Sequence[Mapping[str, str]]) -> str:
    """Return the whole page; `words` are those of each server, by the title of a change."""
    parts = [_HEAD]
    for group, own in groupby(CHANGES, lambda change: change.group):
        parts += [
            f"## {group}\n",
            f"| the source | {' | '.join(SERVERS)} |",
            f"|---|{'---|' * len(SERVERS)}",
            *(_line(change, words) for change in own),
            "",
        ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _line(change: Change, words: Sequence[Mapping[str, str]]) -> str:
    return f"| `{change.title}` | {' | '.join(found[change.key] for found in words)} |"


def recorded() -> list[dict[str, str]]:
    """Return the words of each server that the page has, by change."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    cells = [line.strip("| ").rsplit(" | ", len(SERVERS))[1:] for line in lines]
    return [
        {change.key: own[number] for change, own in zip(CHANGES, cells, strict=True)}
        for number in range(len(SERVERS))
    ]


def words_of(
    server: Server,
    broker: KafkaBroker,
    folder: Path,
    changes: Sequence[Change],
    readers: Sequence[Reader],
) -> tuple[dict[str, str], list[str]]:
    """Run `changes`; return the word of each change, and what differs."""
    outcomes = MatrixRun(server, broker, folder, changes, readers).run()
    words = {}
    problems = []
    for change, outcome in zip(changes, outcomes, strict=True):
        words[change.key] = outcome.word
        if outcome.is_wrong:
            differences = [*outcome.differences, *outcome.reader_differences]
            problems.append(f"{change.title}: {'; '.join(differences)}")
    return words, problems


@contextmanager
def all_readers(python: str, folder: Path) -> Iterator[list[Reader]]:
    """Yield every reader that can read our tables, and require their lines in docs/tables.md."""
    (folder / "cases").mkdir()
    cases = made(folder / "cases")
    with SparkIceberg(python) as spark:
        # Delta keeps the logs of hundreds of tables that it has read.
        session = reader_session(folder / "spark", **{"spark.driver.memory": "2g"})
        try:
            readers = [*spark_readers(session), spark_iceberg_reader(spark)]
            require(*(line(reader, cases) for reader in readers))
            yield [*library_readers(), *readers]
        finally:
            session.stop()


def main() -> None:
    """Run everything on the servers that the arguments name, and write what each has shown."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("servers", nargs="*", help=", ".join(SERVERS))
    parser.add_argument("--spark", metavar="PYTHON", help="read by this one's Spark, too, and ours")
    arguments = parser.parse_args()
    chosen: list[str] = arguments.servers or [*SERVERS]
    if unknown := set(chosen) - SERVERS.keys():
        parser.error(f"no such server: {', '.join(sorted(unknown))}")
    # Servers and connectors end with us, also if somebody asks us to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not PAGE.exists() or len(chosen) == len(SERVERS):
        PAGE.write_text(page([_NOT_RUN] * len(SERVERS)), "utf-8")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="schema-changes-")))
        readers = (
            stack.enter_context(all_readers(arguments.spark, folder))
            if arguments.spark
            else library_readers()
        )
        with KafkaBroker(folder / "kafka") as broker:
            for number, (shown, new) in enumerate(SERVERS.items()):
                if shown not in chosen:
                    continue
                own = folder / str(number)
                own.mkdir()
                with new(own / "server") as server:
                    found, problems = words_of(server, broker, own, CHANGES, readers)
                print("\n".join([f"{shown}: {len(problems)} problems", *problems]), flush=True)
                words = recorded()
                words[number] = found
                PAGE.write_text(page(words), "utf-8")


if __name__ == "__main__":
    main()
