"""Headers as Kafka has them."""

from __future__ import annotations

from connector.envelope.record_headers import RecordHeaders, schema_header
from connector.records.record import decode_headers


def test_a_header_may_be_null() -> None:
    headers = RecordHeaders()
    headers.begin(1, 2, 3, 4, schema_header("s"), b"t")
    encoded = headers.encode_more(ord("c"), 5, [(b"a", None), (b"b", b"2"), (b"c", b"")])
    assert decode_headers(encoded)[4:] == [("a", None), ("b", b"2"), ("c", b"")]
    assert decode_headers(encoded)[:4] == decode_headers(headers.encode(ord("c"), 5))
