"""Versions follow the changes of their keys, whatever batches they come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from connector.foundation.contract import Sequence
from stream_jobs.apply.modes.versions import KeyChange, Version, VersionEnd, Versions, later
from stream_jobs.source.sequence import PackedSequence, Truncate
from tests.stream_jobs import mode_models
from tests.stream_jobs.mode_models import Change

if TYPE_CHECKING:
    from collections.abc import Sequence as Many


def at(number: int) -> PackedSequence:
    return PackedSequence(1, number)


class Mirror:
    """The versions of one key, and what a lookup finds: the newest one that can get an end."""

    def __init__(self) -> None:
        self.versions: list[tuple[str, PackedSequence, int | None, VersionEnd | None]] = []

    def apply(
        self, changes: Many[Change], truncates: Many[Truncate], *, are_all_known: bool
    ) -> None:
        # The step before the changes: truncates end the versions that were there.
        for place, (row, start, us, end) in enumerate(self.versions):
            above = [
                each
                for each in truncates
                if each.sequence > start and (end is None or end.sequence > each.sequence)
            ]
            if above:
                ends_us = later(us, above[0].us)
                if end is not None and end.us is not None and ends_us is not None:
                    ends_us = min(ends_us, end.us)
                self.versions[place] = row, start, us, VersionEnd(above[0].sequence, ends_us, "t")
        known = [
            place
            for place, (_, _, _, end) in enumerate(self.versions)
            if end is None or end.op in "dt"
        ]
        newest = max(known, key=lambda place: self.versions[place][1], default=None)
        version = None
        if newest is not None:
            row, start, us, end = self.versions[newest]
            version = Version(start, us, end, row.encode())
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
            self.versions[newest] = (*self.versions[newest][:3], found.closed[0])
        for place, opened in found.opened.items():
            after = changes[place].after
            assert after is not None
            start = at(changes[place].seq.position)
            self.versions.append((after[1], start, opened.us, opened.end))


STORIES = st.lists(st.tuples(st.sampled_from("cudrt"), st.sampled_from("abc")), max_size=12)
PLACES = st.lists(st.integers(0, 12), max_size=4)


def changes_of(story: list[tuple[str, str]], times: Many[int]) -> list[Change]:
    """The changes of one key, committed at `times`."""
    changes = []
    for number, ((op, value), time) in enumerate(zip(story, times, strict=False), 1):
        row = ("key", value)
        before, after = (row if op == "d" else None), (row if op in "cur" else None)
        changes.append(Change(Sequence(1, 1, number, 0, 0), time, op, before, after))
    return changes


def mirror_of(changes: list[Change], cuts: list[int], late: list[int]) -> Mirror:
    """The versions, if the changes come in batches, and truncates at another time."""
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
    return mirror


@given(story=STORIES, cuts=PLACES, late=PLACES)
def test_versions_are_those_of_the_source_however_late_the_changes_are_read(
    story: list[tuple[str, str]], cuts: list[int], late: list[int]
) -> None:
    # A copy comes between two transactions, with the time of the first of them.
    changes = changes_of(story, [number // 2 for number in range(len(story))])
    expected = [
        (
            each.row[1],
            (each.seq.position, each.valid_from),
            each.end_seq and (each.end_seq.position, each.valid_to),
            each.end_op,
        )
        for each in mode_models.history(changes)
    ]
    found: list[tuple[str, tuple[int, int | None], tuple[int, int | None] | None, str | None]] = []
    mirror = mirror_of(changes, cuts, late)
    for value, begun, us, ended in sorted(mirror.versions, key=lambda each: each[1]):
        end_of = (None, None) if ended is None else ((ended.sequence.lo, ended.us), ended.op)
        # While truncates can be missing, a copied row begins a version with the same values.
        if found and found[-1] == (value, found[-1][1], (begun.lo, us), "r"):
            found[-1] = (value, found[-1][1], *end_of)
        else:
            found.append((value, (begun.lo, us), *end_of))
    assert found == expected


@given(
    story=STORIES,
    times=st.lists(st.integers(0, 9), min_size=12, max_size=12),
    cuts=PLACES,
    late=PLACES,
)
def test_no_moment_has_two_versions_of_a_key_although_times_of_the_log_run_backwards(
    story: list[tuple[str, str]], times: list[int], cuts: list[int], late: list[int]
) -> None:
    changes = changes_of(story, times)
    time_of = {each.seq.position: each.ts_ms for each in changes}
    border = None
    mirror = mirror_of(changes, cuts, late)
    for _, begun, us, ended in sorted(mirror.versions, key=lambda each: each[1]):
        assert us == (time_of[begun.lo] if border is None else max(border, time_of[begun.lo]))
        border = us
        if ended is not None:
            assert ended.us is not None
            assert us is not None
            assert ended.us >= us
            border = ended.us
