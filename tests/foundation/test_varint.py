"""Numbers of variable length, compared with those of the Kafka client."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka.record.util import encode_varint
from librt.strings import BytesWriter

from connector.foundation.kafka_records import put_varint, read_varint, varint_length


@given(st.integers(-(2**61), 2**61 - 1) | st.integers(-70_000, 70_000))
def test_a_number_is_written_as_the_kafka_client_writes_it(value: int) -> None:
    theirs = bytearray()
    encode_varint(value, theirs.append)
    ours = BytesWriter()
    put_varint(ours, value)
    assert ours.getvalue() == theirs
    assert varint_length(value) == len(theirs)
    assert read_varint(ours.getvalue(), 0) == (value, len(theirs))
