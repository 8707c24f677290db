"""`python -m tests.integration.mirror.iceberg_money`: joins of two Iceberg tables under transfers.

DuckDB and PyIceberg join both tables again and again, at the tag of a cut and at their newest
snapshots, while a mirror applies transfers and publishes. At a tag, each account must have what it
always has. At the newest snapshots, some have not: two loads are two moments.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_stack import KafkaBroker
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.record import PublicationRecord
from tests.integration.mirror.iceberg_bank import ACCOUNTS, TABLES, TOTAL, Bank, start_mirror
from tests.stream_jobs.iceberg.readers import DuckDB, Rows, opened, pyiceberg_rows

if TYPE_CHECKING:
    from collections.abc import Callable

# So many joins at tags are followed by one at the newest snapshots.
_TAGGED: Final = 4
_BEGIN_SECONDS: Final = 60.0
_SECTIONS: Final = {"mirror": {"formats": ["delta", "iceberg"]}}


def _joined(tables: list[Rows]) -> str:
    """Return `whole`, or `torn` if an account has something else than always, or is missing."""
    savings, wallet = tables
    amounts = {row[0]: row[1] for row in wallet}
    sums = [row[1] + amounts[row[0]] for row in savings if row[0] in amounts]
    return "whole" if sums == [TOTAL] * ACCOUNTS else "torn"


def _read(
    root: Path, read: Callable[[Path, int | None], Rows], dice: random.Random, *, by_tag: bool
) -> str:
    """Join both tables once."""
    folders = [root / "_iceberg" / "shop" / name for name in TABLES]
    if not by_tag:
        return _joined([read(folder, None) for folder in folders])
    record = PublicationRecord.read(LocalStorage(str(root)), str(root))
    assert record is not None
    tag = f"cut_{dice.choice([*record.cuts][-10:])}"
    found = []
    for folder in folders:
        refs = opened(folder).metadata.refs
        if tag not in refs:
            return "expired"
        found.append(read(folder, refs[tag].snapshot_id))
    return _joined(found)


def _reader(root: Path, name: str, seconds: float, joins: int, out: Any) -> None:
    """Join for some seconds, and put into `out` what was seen."""
    read = pyiceberg_rows if name == "PyIceberg" else DuckDB().rows
    dice = random.Random(name)
    seen: Counter[str] = Counter()
    number, until = 0, time.monotonic() + seconds
    while time.monotonic() < until and seen["by tag: whole"] + seen["by tag: torn"] < joins:
        number += 1
        by_tag = number % (_TAGGED + 1) != 0
        how = "by tag" if by_tag else "newest"
        seen[f"{how}: {_read(root, read, dice, by_tag=by_tag)}"] += 1
    out.put((name, dict(seen)))


def _wait_for_cut(root: Path) -> None:
    ends_at = time.monotonic() + _BEGIN_SECONDS
    while time.monotonic() < ends_at:
        try:
            if mirror_at(str(root), format="iceberg").tables.keys() >= {
                f"shop.{n}" for n in TABLES
            }:
                return
        except (MirrorError, OSError):
            time.sleep(0.2)
    reason = "no cut was published"
    raise TimeoutError(reason)


def run(directory: Path, seconds: float, joins: int) -> dict[str, dict[str, int]]:
    """Return what each reader has seen, and print it."""
    context = multiprocessing.get_context("spawn")
    root = directory / "mirror"
    with KafkaBroker(directory / "kafka") as broker:
        bootstrap = broker.endpoint.bootstrap
        bank = Bank(bootstrap)
        mirror = start_mirror(bootstrap, directory, _SECTIONS, os.environ)
        try:
            bank.start()
            _wait_for_cut(root)
            out = context.Queue()
            names = ("DuckDB", "PyIceberg")
            readers = [
                context.Process(target=_reader, args=(root, name, seconds, joins // 2, out))
                for name in names
            ]
            for reader in readers:
                reader.start()
            found: dict[str, dict[str, int]] = dict(out.get(timeout=seconds + 120) for _ in names)
            for reader in readers:
                reader.join()
            assert mirror.poll() is None, (directory / "mirror.log").read_text()
            bank.stop()
        finally:
            mirror.kill()
            mirror.wait()
    snapshots = len(opened(root / "_iceberg" / "shop" / TABLES[0]).metadata.snapshot_log)
    print(f"{bank.transfers:,} transfers; {snapshots} snapshots of a table are kept")
    for name, seen in sorted(found.items()):
        print(f"{name}: {', '.join(f'{what} {count:,}' for what, count in sorted(seen.items()))}")
    return found


def main() -> int:
    """Run, and return 1 if a join by tag was torn, or if none by the newest snapshots was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--joins", type=int, default=100_000, help="by tag, of both readers")
    parser.add_argument("--seconds", type=float, default=6 * 3600.0, help="at most")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iceberg-money-") as name:
        found = run(Path(name), arguments.seconds, arguments.joins)
    torn = sum(seen.get("by tag: torn", 0) for seen in found.values())
    shown = sum(seen.get("newest: torn", 0) for seen in found.values())
    print(f"{torn} joins by tag were torn, and {shown} of the newest snapshots")
    return 1 if torn or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
