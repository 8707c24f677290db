"""Counts of instructions are read from a file of Callgrind, and compared with what was recorded."""

from __future__ import annotations

import json
from collections import Counter

from benchmarks.instructions import RECORDED, compare, read_counts

# Shortened: names are numbered when they first come, and a call has a line with what it cost.
FILE = """\
# callgrind format
version: 1
pid: 31337
part: 2
desc: Trigger: Client Request: encode
positions: line
events: Ir
summary: 1060

fl=(1) writer.c
fn=(1) CPyDef_text_writer___put_uint
12 40
+3 60
cfi=(2) bytes.c
cfn=(2) CPyBytesWriter_Write
calls=7 20
* 700
-2 5

fl=(2)
fn=(2)
20 700
fi=(3) string.h
30 200
fe=(2)
31 50

fn=(1)
12 5

totals: 1060
"""


def test_a_file_says_what_each_function_took_by_itself() -> None:
    job, counts = read_counts(FILE.splitlines())
    assert job == "encode"
    assert counts == {"text_writer___put_uint": 110, "CPyBytesWriter_Write": 950}
    assert counts.total() == 1060


def test_a_job_may_take_a_little_more() -> None:
    recorded = {"encode": {"total": 1000, "functions": {"a": 900}}}
    lines, is_good = compare(recorded, {"encode": Counter(a=940, b=110)})
    assert (is_good, len(lines)) == (True, 1)


def test_the_functions_that_have_grown_most_are_named() -> None:
    million = 1_000_000
    recorded = {
        "dump": {"total": 10 * million, "functions": {"a": 10 * million}},
        "encode": {"total": 10 * million, "functions": {"a": 7 * million, "b": 3 * million}},
    }
    now = {
        "dump": Counter(a=10 * million),
        "encode": Counter(a=7 * million, b=5 * million, c=million),
    }
    lines, is_good = compare(recorded, now)
    assert not is_good
    assert lines == [
        "instructions, dump: 10.0 million, 1.000 of what was recorded",
        "instructions, encode: 13.0 million, 1.300 of what was recorded",
        "error: encode takes more than 1.05 of it; what has grown most:",
        "  b: 3.0 -> 5.0 million",
        "  c: 0.0 -> 1.0 million",
        "if that is meant to be: make instructions ARGS=--record",
    ]


def test_what_was_recorded_is_of_each_job() -> None:
    jobs = json.loads(RECORDED.read_text())["jobs"]
    assert set(jobs) == {"decode", "encode", "dump", "apply"}
    for job in jobs.values():
        assert 0 < sum(job["functions"].values()) <= job["total"]
