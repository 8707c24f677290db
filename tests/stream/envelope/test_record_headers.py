"""Headers as Kafka has them."""

from __future__ import annotations

import pytest

from connector.foundation import contract
from connector.foundation.kafka_records import decode_headers
from connector.stream.envelope.record_headers import RecordHeaders, TableHeaders

HEADERS = [text for name, text in vars(contract).items() if name.startswith("HEADER_")]


@pytest.mark.parametrize("page", ["docs/records.md", "docs/debezium.md"])
def test_every_header_is_described(pytestconfig: pytest.Config, page: str) -> None:
    text = (pytestconfig.rootpath / page).read_text("utf-8")
    assert [name for name in HEADERS if f"`{name}`" not in text] == []
    assert [name for name in HEADERS if f" {name} " not in (contract.__doc__ or "")] == []


def test_a_header_may_be_null() -> None:
    headers = RecordHeaders()
    headers.begin(1, 2, 3, 4, TableHeaders("s"), b"t")
    encoded = headers.encode_more(ord("c"), 5, [(b"a", None), (b"b", b"2"), (b"c", b"")])
    assert decode_headers(encoded)[4:] == [("a", None), ("b", b"2"), ("c", b"")]
    assert decode_headers(encoded)[:4] == decode_headers(headers.encode(ord("c"), 5))


def test_a_topic_of_several_pipelines_has_the_name_of_each() -> None:
    headers = RecordHeaders()
    headers.begin(1, 2, 3, 4, TableHeaders("s", "shop"), b"t")
    plain = decode_headers(headers.encode(ord("c"), 5))
    names = ["cdc.seq", "cdc.op", "cdc.schema", "cdc.pipeline", "cdc.txn"]
    assert [name for name, _ in plain] == names
    assert dict(plain)["cdc.pipeline"] == b"shop"
    other = decode_headers(headers.encode_with(ord("d"), 6, b"a", b"1"))
    assert other[1:] == [("cdc.op", b"d"), *plain[2:], ("a", b"1")]
    more = decode_headers(headers.encode_more(ord("c"), 5, [(b"a", None)]))
    assert more == [*plain, ("a", None)]
    # The next event may be one of another table.
    headers.begin(1, 2, 3, 5, TableHeaders("s"), b"t")
    assert [name for name, _ in decode_headers(headers.encode(ord("c"), 5))] == [
        name for name in names if name != "cdc.pipeline"
    ]
