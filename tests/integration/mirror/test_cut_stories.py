"""Whatever dies when, each cut has in each table what the source had at that moment, and no more.

Batches are applied in this process, without Spark, over a real broker. The source moves amounts
between the rows of two tables, several in one Kafka transaction, and sometimes truncates a table.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from stream_jobs.cuts import read_cuts
from stream_jobs.delta import parquet_file
from stream_jobs.delta.log import Log
from stream_jobs.delta.snapshot import SnapshotBuilder
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.source.topics import OffsetRange
from tests.integration.mirror.test_deaths import Died, Fate, Process, foreign
from tests.length import length
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.cuts import Cut

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("version", "int"))
NAMES = ("here", "there")
STORIES = length(short=1, full=150)
KEYS = 8

Rows = dict[str, dict[int, int]]


class Bank:
    """Two tables whose amounts have the same sum after each transaction."""

    def __init__(self, kafka: Kafka, dice: random.Random) -> None:
        self.tables = {name: SourceTable(kafka, name, COLUMNS).create() for name in NAMES}
        self.rows: Rows = {name: {} for name in NAMES}
        # By the sequence that no change before it reaches, all rows at that moment.
        self.moments: dict[str, Rows] = {}
        self._kafka = kafka
        self._dice = dice

    def move(self, transactions: int) -> None:
        """Commit some transactions of the source as one of Kafka's."""
        with self._kafka.transaction():
            for _ in range(transactions):
                if self._dice.random() < 0.05:
                    self._truncate()
                self._transfer()
            bound = self._kafka.progress()
            rows = {name: dict(own) for name, own in self.rows.items()}
            self.moments[str(bound)] = rows

    def _transfer(self) -> None:
        source, target = self._dice.sample(NAMES, 2)
        amount = self._dice.randint(1, 9)
        self._add(source, -amount)
        self._add(target, amount)

    def _add(self, name: str, amount: int) -> None:
        key, rows = self._dice.randrange(KEYS), self.rows[name]
        table, old = self.tables[name], rows.get(key)
        if old is None:
            rows[key] = amount
            table.send("c", None, {"id": key, "version": amount})
            return
        before, new = {"id": key, "version": old}, old + amount
        if new == 0:
            del rows[key]
            table.send("d", before, None)
        else:
            rows[key] = new
            table.send("u", before, {"id": key, "version": new})

    def _truncate(self) -> None:
        """Empty both tables: the sum is 0 again."""
        for name in NAMES:
            self.rows[name].clear()
            self.tables[name].send("t", None, None, partition=0)


def rows_at(storage: LocalStorage, path: str, version: int) -> dict[int, int]:
    """The rows of a version, from the log alone; no rows of version -1."""
    if version < 0:
        return {}
    state = SnapshotBuilder(path)
    for each in range(version + 1):
        content = Log(storage, path).read(each)
        assert content is not None
        state.replay(each, content)
    snapshot = state.snapshot()
    columns = [each for each in snapshot.columns if not each.name.startswith("_cdc_")]
    rows: dict[int, int] = {}
    for file in snapshot.files.values():
        for row in parquet_file.live_rows(storage, path, file, columns).to_pylist():
            assert row["id"] not in rows
            rows[row["id"]] = row["version"]
    return rows


def check(storage: LocalStorage, bank: Bank) -> list[Cut]:
    """Compare each table at each cut with the source, and return the cuts."""
    found = read_cuts(storage)
    for cut in found:
        expected = bank.moments[cut.seq]
        for name in NAMES:
            own = cut.tables.get(f"shop.{name}")
            rows = {} if own is None else rows_at(storage, own.path, own.version)
            assert rows == expected[name], (cut.number, name)
        assert sum(sum(rows.values()) for rows in expected.values()) == 0
    sequences = [cut.seq for cut in found]
    assert sequences == sorted(sequences)
    return found


def half_there(storage: LocalStorage) -> bool:
    """Whether the newest versions, read without a cut, have money that was never there."""
    newest = {}
    for name in NAMES:
        snapshot = Log(storage, f"shop/{name}").load()
        version = -1 if snapshot is None else snapshot.version
        newest[name] = rows_at(storage, f"shop/{name}", version)
    return sum(sum(rows.values()) for rows in newest.values()) != 0


@pytest.mark.parametrize("seed", range(STORIES))
def test_each_cut_has_a_moment_of_the_source_whatever_dies(
    kafka: Kafka, tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    (tmp_path / "mirror").mkdir()
    storage = LocalStorage(str(tmp_path / "mirror"))
    bank, fate = Bank(kafka, dice), Fate()
    starts: dict[tuple[str, int], int] = {}
    # Sometimes a batch takes little that Spark has not found, or a task holds little.
    options = dice.choice([1, 1000, 1 << 20]), dice.choice([0, 10, 10_000])
    process = Process(kafka, tmp_path, fate, *options)
    process.between = foreign(tmp_path, "shop/here", dice, [])
    for _ in range(8):
        for _ in range(dice.randint(1, 4)):
            bank.move(dice.randint(1, 6))
        ends = {
            (table.topic, number): end
            for table in bank.tables.values()
            for number, end in process.ends(table.topic).items()
        }
        if dice.random() < 0.4:
            # Spark finds a part alone, and may cut any transaction.
            ends = {
                each: dice.randint(min(starts.get(each, 0), end), end) for each, end in ends.items()
            }
        ranges = [OffsetRange(*each, starts.get(each, 0), end) for each, end in ends.items()]
        while True:
            fate.writes_left = dice.randint(0, 25) if dice.random() < 0.7 else 10**9
            try:
                process.applier.apply(ranges)
                break
            except Died:
                check(storage, bank)
                process.close()
                process = Process(kafka, tmp_path, fate, *options)
        fate.writes_left = 10**9
        check(storage, bank)
        starts = ends if dice.random() < 0.8 else {}
    for table in bank.tables.values():
        whole = process.ends(table.topic).items()
        process.applier.apply([OffsetRange(table.topic, n, 0, end) for n, end in whole])
    process.applier.apply(())
    process.close()

    found = check(storage, bank)
    assert found[-1].seq == max(bank.moments)
    assert len(found) > 1


def test_without_cuts_a_transfer_is_half_there(kafka: Kafka, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    storage = LocalStorage(str(tmp_path / "mirror"))
    bank, fate = Bank(kafka, random.Random(1)), Fate()
    process = Process(kafka, tmp_path, fate)
    bank.move(3)
    process.ends(bank.tables["here"].topic)
    process.applier.apply(())
    for _ in range(10):
        bank.move(1)
    process.ends(bank.tables["there"].topic)

    for writes in range(20):
        fate.writes_left = writes
        with suppress(Died):
            process.applier.apply(())
        found = half_there(storage)
        check(storage, bank)
        process.close()
        if found:
            return
        process = Process(kafka, tmp_path, fate)
    pytest.fail("no transfer was half there")
