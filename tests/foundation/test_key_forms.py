"""The form of a key, from its bytes."""

from __future__ import annotations

import pytest

from connector.foundation.record_formats import key_form

SCHEMA = b'{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}]}'


@pytest.mark.parametrize(
    ("key", "form"),
    [
        (b'{"id":1}', "json"),
        (b'{"schema":1,"payload":"{}"}', "json"),
        (b'{"schema":' + SCHEMA + b',"payload":{"id":1}}', "json_with_schema"),
        (b"\x00\x00\x00\x00\x07\x02", "avro"),
        # The number -62, and a text that begins like JSON.
        (b'\x00\x00\x00\x00\x07{\x08"id"', "avro"),
        (b'\x00\x00\x00\x00\x07{"id":1}', "json_schema"),
        (b"Struct{id=1}", None),
        (b"7", None),
        (b"", None),
        (b"\xff\xfe", None),
        (b"[" * 100_000, None),
        (b'{"id":' * 100_000, None),
    ],
)
def test_the_form_of_a_key(key: bytes, form: str | None) -> None:
    assert key_form(key) == form
