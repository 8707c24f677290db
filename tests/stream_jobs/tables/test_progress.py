"""What a commit holds of the progress of its table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_jobs.apply.changes import LastChange
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.mirror_metadata import Progress

sequences = st.builds(PackedSequence, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
partitions = st.integers(0, 9)
progresses = st.builds(
    Progress,
    st.text(),
    sequences,
    st.integers(1, 100),
    st.booleans(),
    st.none() | sequences,
    st.dictionaries(partitions, st.integers(0, 2**62)),
    st.dictionaries(partitions, sequences),
    st.none() | st.integers(0, 2**62),
    st.just(()),
    st.none() | st.builds(LastChange, sequences, st.text()),
)


@given(progresses)
def test_it_is_read_as_it_was_written(progress: Progress) -> None:
    assert Progress.read(progress.write()) == progress


@given(
    progresses,
    st.dictionaries(partitions, st.integers(0, 2**62)),
    st.dictionaries(partitions, sequences),
)
def test_it_never_goes_back(
    progress: Progress, offsets: dict[int, int], highest: dict[int, PackedSequence]
) -> None:
    last = LastChange(PackedSequence(2**62, 1), "uuid:42")
    results = [PartResult("t", offsets=offsets, highest=highest), PartResult("t", last=last)]
    later = progress.after(results)
    assert later.last == max(last, progress.last or last)
    for partition in {*progress.offsets, *offsets}:
        known = progress.offsets.get(partition, 0), offsets.get(partition, 0)
        assert later.offsets[partition] == max(known)
    for partition, mark in later.marks.items():
        marks = progress.marks.get(partition), highest.get(partition)
        assert mark == max(each for each in marks if each is not None)
    assert (later.floor, later.schema_id) == (progress.floor, progress.schema_id)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema":"a","since":[1]}'])
def test_other_text_is_no_progress(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        Progress.read(text)
