"""The argument of docs/design/first-load.md, played: rows are loaded while everything happens.

A model of the source, its log, a topic of two partitions and a mirror. SELECTs see any moment from
the watermark on, as on replicas; what is not committed is lost at any step. The topic must come to
what the source had after the last SELECT, or, where GTIDs tell, to what the SELECTs have seen on
all servers together. STORIES=n plays as many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.load.table_loads import has_passed
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import LoadPart, SourceMoment, TableLoad
from tests.length import length

STORIES = int(os.environ.get("STORIES", length(short=150, full=5000)))
KEYS = 12
PARTITIONS = 2
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class Event(NamedTuple):
    """A change: "u" has a row, "d" none, "t" takes all rows, "alter" changes the columns."""

    kind: str
    key: int = 0
    value: int = 0


Rows = dict[int, int]


@dataclass
class Source:
    """A table, and its rows after each event of its log."""

    log: list[Event] = field(default_factory=list)
    moments: list[Rows] = field(default_factory=lambda: [dict.fromkeys(range(1, KEYS, 2), 0)])

    def execute(self, *events: Event) -> None:
        rows = dict(self.moments[-1])
        for event in events:
            if event.kind == "u":
                rows[event.key] = event.value
            elif event.kind == "d":
                rows.pop(event.key, None)
            elif event.kind == "t":
                rows.clear()
            self.log.append(event)
            self.moments.append(dict(rows))

    def columns(self, moment: int) -> int:
        """The number of ALTERs before a moment."""
        return sum(event.kind == "alter" for event in self.log[:moment])


def change(source: Source, random: Random) -> None:
    rows, key, value = source.moments[-1], random.randrange(KEYS), random.randrange(10**6)
    match random.choice("uuuddmmmta" if random.random() < 0.2 else "uuudm"):
        case "u":
            source.execute(Event("u", key, value))
        case "d" if key in rows:
            source.execute(Event("d", key))
        case "m" if key in rows:
            other = random.choice([n for n in range(KEYS) if n not in rows] or [key])
            source.execute(Event("d", key), Event("u", other, value))
        case "t":
            source.execute(Event("t"))
        case "a":
            source.execute(Event("alter"))


def gtids(moment: int) -> str:
    """What a server has executed at a moment."""
    return f"{UUID}:1-{moment}" if moment else ""


@dataclass
class Mirror:
    """What one commit after the other has made; a crash loses only what is outside."""

    rows: dict[int, tuple[int, int]] = field(default_factory=dict)  # value and sequence
    floor: int = 0
    applied: list[int] = field(default_factory=lambda: [0] * PARTITIONS)  # offsets
    load: TableLoad | None = None


class Story:
    """One table, and all that can happen to it."""

    def __init__(self, seed: int, *, waits: bool = True, forgets: bool = False) -> None:
        self.random = Random(seed)
        self.waits = waits
        # Whether the end is what the last SELECT has seen, on its server.
        self.forgets = forgets
        self.by_gtids = forgets or seed % 2 == 0
        self.source = Source()
        self.delivered = 0
        self.mirror = Mirror()
        for _ in range(self.random.randrange(8)):
            change(self.source, self.random)

    def topic(self, bound: int) -> list[list[tuple[int, Event]]]:
        """The records before a moment by partition, with their sequences: between moments."""
        parts: list[list[tuple[int, Event]]] = [[] for _ in range(PARTITIONS)]
        for seq, event in enumerate(self.source.log[:bound]):
            if event.kind != "alter":
                parts[event.key % PARTITIONS].append((2 * seq + 1, event))
        return parts

    def step(self) -> None:
        source, random, load = self.source, self.random, self.mirror.load
        if random.random() < 0.5:
            change(source, random)
        self.delivered = random.randint(self.delivered, len(source.log))
        if load is None:
            self.begin()
        elif load.phase == "reading":
            if not self.waits:
                self.apply(self.delivered)
            self.read(load)
        else:
            self.apply(self.delivered)
            assert load.end is not None
            if self.has_passed(load.end) and self.has_come(self.delivered):
                self.mirror.load = load.completed()
                self.check(self.delivered)

    def has_passed(self, end: SourceMoment) -> bool:
        place, bound = f"log.1:{self.delivered}", PackedSequence(0, 0)
        gtid = gtids(self.delivered) if self.by_gtids else None
        moment = DeliveredPosition("mysql", gtid, place, bound, server_uuid="source")
        return has_passed(moment, end)

    def begin(self) -> None:
        moment = SourceMoment("", "", None, str(self.delivered))
        columns = str(self.source.columns(self.delivered))
        count = self.random.randint(1, 4)
        edges = [(), *((str(KEYS * n // count),) for n in range(1, count)), ()]
        parts = tuple(LoadPart(low, high) for low, high in pairwise(edges))
        seq = PackedSequence(2 * self.delivered, 0)
        load = TableLoad("id", "reading", seq, moment, (columns,), parts)
        self.mirror = Mirror(floor=seq.hi, load=load)

    def read(self, load: TableLoad) -> None:
        """Read some rows of a part as one SELECT, and commit them, or lose them."""
        source, random = self.source, self.random
        place = random.choice([n for n, part in enumerate(load.parts) if not part.done])
        part = load.parts[place]
        moment = random.randint(load.seq.hi // 2, len(source.log))
        if str(source.columns(len(source.log))) != load.key[0]:
            if str(source.columns(self.delivered)) != load.key[0]:
                self.begin()
            return
        after = int(part.last[0]) if part.last else -1
        low, high = int(*part.low), int(*(part.high or (KEYS,)))
        rows = {k: v for k, v in sorted(source.moments[moment].items()) if low <= k < high}
        found = [(k, v) for k, v in rows.items() if k > after][: random.randint(1, 3)]
        if random.random() < 0.2:
            return
        last = (str(found[-1][0]),) if found else part.last
        done = not found or found[-1][0] == max(rows)
        seen = gtids(moment) if self.by_gtids else None
        known = replace(load, seen=None) if self.forgets else load
        load = known.after_range(place, LoadPart(part.low, part.high, last, done), len(found), seen)
        if load.is_read:
            of_source = SourceMoment("source", "mysql", None, f"log.1:{len(source.log)}")
            end = load.seen_moment or of_source
            load = TableLoad(load.id, "catching up", load.seq, load.watermark, end=end)
        for key, value in found:
            there = self.mirror.rows.get(key)
            if there is None or there[1] < load.seq.hi:
                self.mirror.rows[key] = value, load.seq.hi
        self.mirror.load = load

    def apply(self, bound: int) -> None:
        """Apply some records of each partition, as a batch does."""
        mirror, random = self.mirror, self.random
        batch = []
        for number, records in enumerate(self.topic(bound)):
            end = random.randint(mirror.applied[number], len(records))
            batch += records[mirror.applied[number] : end]
            mirror.applied[number] = end
        # A batch knows its `t` records before it applies rows.
        mirror.floor = max([mirror.floor, *(seq for seq, event in batch if event.kind == "t")])
        mirror.rows = {k: own for k, own in mirror.rows.items() if own[1] >= mirror.floor}
        for seq, event in sorted(batch):
            known = mirror.rows.get(event.key)
            if event.kind == "t" or seq < mirror.floor or (known and known[1] > seq):
                continue
            if event.kind == "u":
                mirror.rows[event.key] = event.value, seq
            else:
                mirror.rows.pop(event.key, None)

    def has_come(self, bound: int) -> bool:
        ends = [len(records) for records in self.topic(bound)]
        return self.mirror.applied == ends

    def check(self, moment: int) -> None:
        rows = {key: value for key, (value, _) in self.mirror.rows.items()}
        assert rows == self.source.moments[moment]

    def play(self) -> None:
        for _ in range(400):
            self.step()
            if self.mirror.load is not None and self.mirror.load.phase == "complete":
                break
        else:
            pytest.fail("the load has not ended")
        for _ in range(10):
            change(self.source, self.random)
        while not self.has_come(len(self.source.log)):
            self.apply(len(self.source.log))
        self.check(len(self.source.log))


@pytest.mark.parametrize("part", range(3))
def test_loaded_tables_equal_the_source_whatever_happens(part: int) -> None:
    for seed in range(part, STORIES, 3):
        Story(seed).play()


@pytest.mark.parametrize("mistake", [{"waits": False}, {"forgets": True}])
def test_the_model_notices_what_the_argument_avoids(mistake: dict[str, bool]) -> None:
    """A topic that does not wait brings rows back; another server has shown later rows."""

    def is_equal(seed: int) -> bool:
        try:
            Story(seed, **mistake).play()
        except AssertionError:
            return False
        return True

    assert not all(map(is_equal, range(100)))
