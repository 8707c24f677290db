"""A script of bytes goes in, rows come out, wherever the network cut the bytes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.log_errors import ProtocolError, TruncatedPayload
from connector.binlog.payload_reader import encode_lenenc
from connector.replication import dump_errors
from connector.replication.protocol.responses import ErrPacket
from connector.replication.protocol.result_set import ROW_BYTES_MAX, ResultSet, TextRows
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.errors.code import ErrorCode

PACKET_LENGTH_MAX = 2**24 - 1
EOF = b"\xfe\0\0\x02\0"
OK = b"\0\0\0\x02\0\0\0"
ERROR = b"\xff\x25\x05#70100Query execution was interrupted"

Cells = list[str | None]


def packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number & 0xFF]) + payload


def packets(payloads: Iterable[bytes]) -> bytes:
    """Frame payloads as a server does: long ones are continued, numbers start at 1."""
    numbers = itertools.count(1)
    return b"".join(
        packet(next(numbers), payload[offset : offset + PACKET_LENGTH_MAX])
        for payload in payloads
        for offset in range(0, len(payload) + 1, PACKET_LENGTH_MAX)
    )


def cell(text: str | None) -> bytes:
    if text is None:
        return b"\xfb"
    data = text.encode()
    return encode_lenenc(len(data)) + data


def row(cells: Cells) -> bytes:
    return b"".join(map(cell, cells))


def definition(name: str) -> bytes:
    return row(["def", "shop", "o", "orders", name, name]) + b"\x0c\xff\0\0\0\0\0\x03\0\0\0\0\0"


def answer(names: list[str], rows: list[Cells], end: bytes = EOF) -> bytes:
    return packets(
        [bytes([len(names)]), *map(definition, names), EOF, *map(row, rows), end],
    )


def read(data: bytes, cuts: Iterable[int] = ()) -> tuple[ResultSet, list[Cells]]:
    taken = TextRows()
    result = ResultSet("db:3306", taken)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(data)]):
        result.feed(data[start:end])
    return result, taken.rows


def test_rows_leave_as_they_came() -> None:
    rows: list[Cells] = [["1", "Zoë"], ["2", None], ["3", ""]]
    result, taken = read(answer(["id", "name"], rows))
    assert taken == rows
    assert (result.ended, result.error, result.column_names) == (True, None, ["id", "name"])


def test_an_answer_without_rows_has_ended() -> None:
    result, taken = read(packets([OK]))
    assert (result.ended, taken, result.column_names) == (True, [], [])


@given(st.data())
def test_it_does_not_matter_where_the_network_cuts(data: st.DataObject) -> None:
    texts = st.none() | st.text(max_size=300)
    rows = data.draw(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=8))
    sent = answer(["a", "b"], rows)
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=12))
    result, taken = read(sent, cuts)
    assert taken == rows
    assert result.ended


def test_every_cut_between_two_bytes_gives_the_same_rows() -> None:
    rows: list[Cells] = [["1", "a" * 260], [None, None]]
    sent = answer(["a", "b"], rows)
    for cut in range(len(sent) + 1):
        assert read(sent, [cut])[1] == rows
    assert read(sent, range(1, len(sent)))[1] == rows


def test_packet_numbers_wrap_at_256() -> None:
    rows: list[Cells] = [[str(n)] for n in range(600)]
    assert read(answer(["n"], rows))[1] == rows


@pytest.mark.parametrize(
    "length", [PACKET_LENGTH_MAX - 4, PACKET_LENGTH_MAX - 3, 2 * PACKET_LENGTH_MAX + 9]
)
def test_a_row_of_several_packets_is_joined(length: int) -> None:
    rows: list[Cells] = [["x" * length], ["next"]]
    sent = answer(["a"], rows)
    _, taken = read(sent, range(0, len(sent), 1_000_003))
    assert taken == rows


def test_an_error_ends_the_answer_in_place_of_any_row() -> None:
    interrupted = ErrPacket(1317, "70100", "Query execution was interrupted")
    for sent, rows in (
        (packets([ERROR]), []),
        (answer(["n"], [], ERROR), []),
        (answer(["n"], [["1"], ["2"]], ERROR), [["1"], ["2"]]),
    ):
        result, taken = read(sent)
        assert (result.ended, result.error, taken) == (True, interrupted, rows)


def test_rows_that_begin_with_large_lengths_are_not_an_end() -> None:
    """0xFE starts the length of a cell beyond 16 MiB, and an EOF."""
    rows: list[Cells] = [["y" * 2**24]]
    sent = answer(["a"], rows)
    assert read(sent)[1] == rows


@pytest.mark.parametrize(
    ("sent", "code", "facts"),
    [
        (
            packets([b"\x01"]) + packet(3, definition("n")),
            dump_errors.ANSWER_NUMBER,
            {"number": 3, "needed": 2},
        ),
        (packets([b"\xfb/etc/passwd"]), dump_errors.ANSWER_FILE, {}),
        (packets([b""]), dump_errors.ANSWER_EMPTY_PACKET, {}),
        (
            packets([b"\x01", b"\x03de"]),
            dump_errors.ANSWER_UNREADABLE,
            {"why": TruncatedPayload(3, 10, 12)},
        ),
        (
            packets([b"\x01", definition("n"), definition("n")]),
            dump_errors.ANSWER_PACKET,
            {},
        ),
        (packets([OK, b"\x01"]), dump_errors.ANSWER_PACKET, {}),
        (packets([OK, EOF]), dump_errors.ANSWER_END, {}),
    ],
)
def test_bytes_that_are_no_answer_are_refused(
    sent: bytes, code: ErrorCode, facts: dict[str, object]
) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(sent)
    assert caught.value.text == text_of(code, server="db:3306", **facts)


def test_a_row_larger_than_any_server_allows_is_refused_before_it_is_gathered() -> None:
    result = ResultSet("db:3306", TextRows())
    # As if the bytes before were here: a test need not hold a gibibyte.
    result._joined.append(b"")
    result._joined_bytes = ROW_BYTES_MAX
    with pytest.raises(ProtocolError) as caught:
        result.feed(packet(1, b"more"))
    assert caught.value.text == text_of(
        dump_errors.ANSWER_ROW_SIZE, server="db:3306", limit=ROW_BYTES_MAX
    )


def test_what_is_no_text_shows_its_bytes() -> None:
    sent = packets([b"\x01", definition("n"), EOF, b"\x02\xff\x41", EOF])
    assert read(sent)[1] == [["\\xffA"]]
