from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog import argument_errors
from connector.binlog.gtid import Gtid, GtidSet
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode

A = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
B = UUID("a09129d9-0728-11e9-aa93-d227f810ba81")

# The body of PREVIOUS_GTIDS_LOG_EVENT in a recorded 9.6.0 log.
TAGGED = bytes.fromhex(
    "0102000000000001"
    "55778904029911f1b1b84ef0c4956feb" "00"
    "0100000000000000" "01000000000000000e00000000000000"
    "55778904029911f1b1b84ef0c4956feb" "0a6d79746167"
    "0100000000000000" "01000000000000000300000000000000"
)  # fmt: skip

# The same of a recorded 8.0.15 log: 538-542 is stored as 538, 543.
UNTAGGED = bytes.fromhex(
    "0100000000000000"
    "6cea54addde611e99505525400d0702c"
    "0100000000000000" "1a020000000000001f02000000000000"
)  # fmt: skip

gtids = st.builds(
    Gtid,
    st.sampled_from([A, B]),
    st.integers(1, 30) | st.sampled_from([2**63 - 3, 2**63 - 2]),
    st.sampled_from(["", "nightly", "x_1"]),
)
models = st.sets(gtids, max_size=40)


def gtid_set(model: set[Gtid]) -> GtidSet:
    result = GtidSet()
    for gtid in model:
        result.add(gtid)
    return result


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (f"{A}:1", f"{A}:1"),
        (f"{A}:1-5:7", f"{A}:1-5:7"),
        (f"{A}:7:1-3:4-5:2", f"{A}:1-5:7"),
        (f"{B}:1,\n{A}:1".upper(), f"{A}:1,{B}:1"),
        (f" {A} : 1 - 2 , , {A}:3 ,", f"{A}:1-3"),
        (f"{A}:1:Nightly:5-6:_b:1:9", f"{A}:1:_b:1:9:nightly:5-6"),
        (f"{A.hex}:1", f"{A}:1"),
        (f"{A}:9223372036854775806", f"{A}:9223372036854775806"),
    ],
)
def test_text_is_read_as_the_server_reads_it_and_printed_in_its_normal_form(
    text: str, normal: str
) -> None:
    assert str(GtidSet.parse(text)) == normal


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("0-1-5", argument_errors.NOT_A_UUID, "'0-1-5' is not a server UUID"),
        (f"{A}", argument_errors.NO_INTERVAL, "no interval follows the server UUID"),
        (
            f"{A}:nightly",
            argument_errors.NO_INTERVAL_OF_TAG,
            "no interval follows the tag 'nightly'",
        ),
        (
            f"{A}:5-3",
            argument_errors.INTERVAL,
            "'5-3' is not an interval within 1-9223372036854775806",
        ),
        (f"{A}:0", argument_errors.INTERVAL, "'0' is not an interval within 1-9223372036854775806"),
        (f"{A}:9223372036854775807", argument_errors.INTERVAL,
         "'9223372036854775807' is not an interval within 1-9223372036854775806"),
        (f"{A}:1::2", argument_errors.NEITHER, "'' is neither an interval nor a tag"),
        (f"{A}:a-b:2", argument_errors.NEITHER, "'a-b' is neither an interval nor a tag"),
        (f"{A}:{'t' * 33}:1", argument_errors.NEITHER,
         f"'{'t' * 33}' is neither an interval nor a tag"),
    ],
)  # fmt: skip
def test_text_that_is_no_set_is_refused_with_the_part_that_is_wrong(
    text: str, code: ErrorCode, reason: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        GtidSet.parse(text)
    assert caught.value.code is code
    assert caught.value.text == (
        f"cannot read GTID set member {text!r}: {reason}; "
        "it looks like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (bytes(8), ""),
        (UNTAGGED, "6cea54ad-dde6-11e9-9505-525400d0702c:538-542"),
        (TAGGED, "55778904-0299-11f1-b1b8-4ef0c4956feb:1-13:mytag:1-2"),
    ],
)
def test_recorded_binary_sets_read_and_write_back_byte_for_byte(data: bytes, text: str) -> None:
    gtids = GtidSet.decode(PayloadReader(data))
    assert str(gtids) == text
    assert gtids.encode() == data


@pytest.mark.parametrize("data", [UNTAGGED, TAGGED])
def test_every_prefix_of_a_binary_set_is_truncated(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(TruncatedPayload):
            GtidSet.decode(PayloadReader(data[:length]))


def test_decode_leaves_the_cursor_after_the_set() -> None:
    reader = PayloadReader(UNTAGGED + b"crc!")
    GtidSet.decode(reader)
    assert reader.read_rest() == b"crc!"


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ([0, 5], "interval 0-5 of {} at offset 32 of a GTID set does not rise"),
        ([5, 5], "interval 5-5 of {} at offset 32 of a GTID set does not rise"),
        ([1, 5, 5, 9], "interval 5-9 of {} at offset 48 of a GTID set does not rise"),
        ([7, 2**63], f"interval 7-{2**63} of {{}} at offset 32 of a GTID set does not rise"),
        ([], "a GTID set holds {} twice or without an interval"),
    ],
)  # fmt: skip
def test_intervals_that_no_server_writes_are_refused(bounds: list[int], reason: str) -> None:
    numbers = [len(bounds) // 2, *bounds]
    data = (1).to_bytes(8, "little") + A.bytes
    data += b"".join(number.to_bytes(8, "little") for number in numbers)
    with pytest.raises(DecodeError) as caught:
        GtidSet.decode(PayloadReader(data))
    assert caught.value.text == reason.format(A)


def test_a_source_that_comes_twice_is_refused() -> None:
    data = (2).to_bytes(8, "little") + 2 * UNTAGGED[8:]
    with pytest.raises(DecodeError, match="holds 6cea54ad-dde6-11e9-9505-525400d0702c twice"):
        GtidSet.decode(PayloadReader(data))


@pytest.mark.parametrize("encoded_tag", [b"\x03aa", b"\x02A", b"\x02\xff", b"\x42" + 33 * b"a"])
def test_a_tag_that_no_server_writes_is_refused(encoded_tag: bytes) -> None:
    data = TAGGED[:8] + A.bytes + encoded_tag + bytes(8)
    with pytest.raises(DecodeError) as caught:
        GtidSet.decode(PayloadReader(data))
    assert caught.value.text == (
        "the tag at offset 24 of a GTID set is not one to 32 of a-z, 0-9 and _"
    )


@given(models, models)
def test_the_algebra_is_the_algebra_of_sets_of_transactions(
    left: set[Gtid], right: set[Gtid]
) -> None:
    a, b = gtid_set(left), gtid_set(right)
    assert a | b == gtid_set(left | right)
    assert a - b == gtid_set(left - right)
    assert (a <= b) == (left <= right)
    assert (a == b) == (left == right)
    assert bool(a) == bool(left)
    assert all((gtid in a) == (gtid in left) for gtid in left | right)
    assert set(a) == left
    # The operands are as they were.
    assert (a, b) == (gtid_set(left), gtid_set(right))


@given(models)
def test_both_forms_read_back_what_was_written(model: set[Gtid]) -> None:
    gtids = gtid_set(model)
    assert GtidSet.parse(str(gtids)) == gtids
    assert GtidSet.decode(PayloadReader(gtids.encode())) == gtids
    assert repr(gtids) == f"GtidSet.parse({str(gtids)!r})"


def test_a_copy_changes_on_its_own() -> None:
    gtids = GtidSet.parse(f"{A}:1")
    copy = gtids.copy()
    copy.add(Gtid(A, 2))
    copy.add(Gtid(B, 1))
    assert str(gtids) == f"{A}:1"
    assert str(copy) == f"{A}:1-2,{B}:1"


def test_a_gtid_prints_as_the_server_prints_it() -> None:
    assert str(Gtid(A, 5)) == f"{A}:5"
    assert str(Gtid(A, 5, "nightly")) == f"{A}:nightly:5"


def test_a_set_is_no_key_and_equals_only_sets() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(GtidSet())
    assert GtidSet() != ""
