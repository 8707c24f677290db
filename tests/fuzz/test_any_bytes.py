"""Any bytes are events, or one of our errors; and a length that lies allocates nothing."""

from __future__ import annotations

import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.inputs import kept_inputs
from tests.fuzz.targets import TARGETS, seeds
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable

INPUTS_MAX = length(short=75, full=1_000_000)
SEEDS_MAX = length(short=15, full=60)
CHANGES_PER_SEED = 12

# An input has at most 64 KiB; a decoder that believed a length would ask for far more than this.
MEMORY_BYTES_MAX = 32 * 1024 * 1024


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_kept_inputs_of_the_fuzzer_still_pass_in_bounded_memory(target: str) -> None:
    inputs = kept_inputs(target)
    assert inputs, "make fuzz records them"
    chosen = random.Random(target).sample(inputs, min(INPUTS_MAX, len(inputs)))
    tracemalloc.start()
    try:
        for data in chosen:
            TARGETS[target](data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX


@given(data=st.binary(max_size=300))
@pytest.mark.parametrize("check", TARGETS.values(), ids=TARGETS)
def test_random_bytes_pass(check: Callable[[bytes], None], data: bytes) -> None:
    check(data)


def test_real_bytes_with_lengths_that_lie_pass(target: str) -> None:
    choose = random.Random(target)
    inputs = [data for data in seeds(target) if data]
    for data in choose.sample(inputs, min(SEEDS_MAX, len(inputs))):
        for _ in range(CHANGES_PER_SEED):
            changed = bytearray(data)
            for _ in range(choose.randint(1, 3)):
                place = choose.randrange(len(changed))
                width = choose.choice((1, 1, 2, 4, 8))
                lie = choose.choice((0, 0xFF, 0x7F, 0xFE, 0x80))
                changed[place : place + width] = bytes([lie]) * width
            del changed[choose.choice((len(changed), choose.randint(1, len(changed)))) :]
            TARGETS[target](bytes(changed))
