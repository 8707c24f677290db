"""The data are the same in every run, and all of our modes read the same out of them."""

from __future__ import annotations

import hashlib

from benchmarks.workload.generate import WORKLOADS
from benchmarks.workload.rows import Pages, Rows


def digest(*rows: str) -> str:
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def test_orders_are_those_of_earlier_runs() -> None:
    assert digest(*map(Rows(1).order, range(100))) == "fed5d4de2e875168"


def test_wide_rows_are_those_of_earlier_runs() -> None:
    assert digest(*map(Rows(2).wide, range(100))) == "512cc668f2bff919"


def test_pages_are_those_of_earlier_runs() -> None:
    assert digest(*map(Pages(3).page, range(100))) == "448dd8fb8281337f"


def test_a_size_is_a_whole_number_of_steps() -> None:
    assert [WORKLOADS["bulk"].size(scale) for scale in (1.0, 0.1, 0.001)] == [
        960_000,
        90_000,
        30_000,
    ]
