"""`python -m benchmarks.training`: the runs by which the compiler learns what is hot.

`setup.py` calls it between its two builds if CONNECTOR_PGO=1, where only the packages are installed
that the build needs. The golden logs have every type of column and of event, from every kind of
server; each is read by the library, encoded as `run` does, counted, and printed in all formats.
"""

from __future__ import annotations

from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ours import bodies, envelope, parse
from connector.binlog.files.byte_source import FileOptions
from connector.binlog.files.file_log import FileLog
from connector.foundation.errors import ConnectorError
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.log_counts import LogCounts
from connector.logs.output import LineOutput
from connector.logs.statistics import Statistics
from connector.reader import open_binlog

if TYPE_CHECKING:
    from collections.abc import Callable

LOGS = Path(__file__).parents[1] / "tests" / "golden" / "files"
# What a process does once must not look as hot as what it does for each row.
_ROUNDS = 3
_TABLES = "*.*"
# Some logs are there for their errors; to explain one of them needs the parser of SQL.
_EXPECTED = (ConnectorError, ModuleNotFoundError)


def _rows(log: Path) -> None:
    with open_binlog(log) as opened:
        for change in opened.row_changes():
            _ = change.before, change.after


def _dump(log: Path, form: Format) -> None:
    dump = Dump(DumpOptions(form, topic_prefix="cdc"), LineOutput(BytesIO()), lambda _: None)
    dump.run(file_inputs([str(log)], ReadingOptions()))


def _stat(log: Path) -> None:
    with closing(FileLog(log, FileOptions())) as file:
        counts = LogCounts(file, Statistics())
        while counts.take():
            pass


def main() -> None:
    """Read the golden logs in every way."""
    logs = sorted(path for path in LOGS.glob("*/*") if path.suffix.removeprefix(".").isdigit())
    assert logs, f"there is no log in {LOGS}"
    reads: list[Callable[[Path], object]] = [
        *(partial(read, tables=_TABLES) for read in (parse, bodies, envelope)),
        *(partial(_dump, form=form) for form in Format),
        _rows,
        _stat,
    ]
    for log in logs * _ROUNDS:
        for read in reads:
            with suppress(*_EXPECTED):
                read(log)


if __name__ == "__main__":
    main()
