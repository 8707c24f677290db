"""Versions follow the changes of their keys, whatever batches they come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from connector.contract import Sequence
from stream_jobs.apply.modes.versions import End, KeyChange, Version, Versions
from stream_jobs.schema.sequence import PackedSequence, Truncate
from tests.stream_jobs import mode_models
from tests.stream_jobs.mode_models import Change

if TYPE_CHECKING:
    from collections.abc import Sequence as Many


def at(number: int) -> PackedSequence:
    return PackedSequence(1, number)


class Mirror:
    """The versions of one key, and what a lookup finds: the newest one that can get an end."""

    def __init__(self) -> None:
        self.versions: list[tuple[str, PackedSequence, End | None]] = []

    def apply(
        self, changes: Many[Change], truncates: Many[Truncate], *, are_all_known: bool
    ) -> None:
        # The step before the changes: truncates end the versions that were there.
        for place, (row, start, end) in enumerate(self.versions):
            above = [
                each
                for each in truncates
                if each.sequence > start and (end is None or end.sequence > each.sequence)
            ]
            if above:
                self.versions[place] = row, start, End(above[0].sequence, above[0].us, "t")
        known = [
            place for place, (_, _, end) in enumerate(self.versions) if end is None or end.op == "t"
        ]
        newest = max(known, key=lambda place: self.versions[place][1], default=None)
        version = None
        if newest is not None:
            row, start, end = self.versions[newest]
            version = Version(start, None if end is None else end.sequence, row.encode())
        given_changes = [
            KeyChange(
                at(each.seq.position),
                each.ts_ms,
                each.op,
                -1 if each.after is None else place,
                None if each.after is None else each.after[1].encode(),
                are_all_known,
            )
            for place, each in enumerate(changes)
        ]
        found = Versions()
        found.follow(0, version, given_changes, truncates)
        if 0 in found.closed:
            assert newest is not None
            self.versions[newest] = (*self.versions[newest][:2], found.closed[0])
        for place, ends in found.opened.items():
            after = changes[place].after
            assert after is not None
            self.versions.append((after[1], at(changes[place].seq.position), ends))


@given(
    story=st.lists(st.tuples(st.sampled_from("cudrt"), st.sampled_from("abc")), max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=4),
    late=st.lists(st.integers(0, 12), max_size=4),
)
def test_versions_are_those_of_the_source_however_late_the_changes_are_read(
    story: list[tuple[str, str]], cuts: list[int], late: list[int]
) -> None:
    changes = []
    for number, (op, value) in enumerate(story, 1):
        row = ("key", value)
        before, after = (row if op == "d" else None), (row if op in "cur" else None)
        changes.append(Change(Sequence(1, 1, number, 0, 0), number, op, before, after))
    own = [each for each in changes if each.op != "t"]
    truncates = [Truncate(at(c.seq.position), c.ts_ms) for c in changes if c.op == "t"]
    mirror = Mirror()
    # The key is in one partition, and the truncates are in another one: each is read in order.
    ends = sorted({min(cut, len(own)) for cut in cuts} | {len(own)})
    seen = 0
    for place, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        seen = max([seen, *late[place : place + 1]])
        known = truncates if end == len(own) else truncates[:seen]
        mirror.apply(own[start:end], known, are_all_known=len(known) == len(truncates))
    expected = [
        (each.row[1], each.seq.position, each.end_seq and each.end_seq.position, each.end_op)
        for each in mode_models.history(changes)
    ]
    found: list[tuple[str, int, int | None, str | None]] = []
    for value, begun, ended in sorted(mirror.versions, key=lambda each: each[1]):
        end_of = (None, None) if ended is None else (ended.sequence.lo, ended.op)
        # While truncates can be missing, a copied row begins a version with the same values.
        if found and found[-1] == (value, found[-1][1], begun.lo, "r"):
            found[-1] = (value, found[-1][1], *end_of)
        else:
            found.append((value, begun.lo, *end_of))
    assert found == expected
