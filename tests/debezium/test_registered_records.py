"""Records in Avro and with JSON Schema have the values of the records in JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.debezium.comparison import GOLDEN
from tests.debezium.encoded_log import encoded_log
from tests.debezium.option_sets import SETS
from tests.debezium.registered import NumberedSchemas, readable
from tests.debezium.story import DATABASE, SERVERS
from verification.topics.record_difference import RegistryValues

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.kafka_records import Record
    from connector.stream.envelope.options import EnvelopeOptions

# Together they have every form of every type.
CHOSEN = ("defaults", "texts", "connect", "nanoseconds", "flat_rewritten")
FLOAT_MAX = 3.5e38


def options(name: str, **changes: Any) -> EnvelopeOptions:
    """Return the options of a set, with names that Avro allows."""
    found = next(each for each in SETS if each.name == name).options("mysql")
    assert found.debezium is not None
    allowed = {"field_names": "avro", "schema_names": "avro", "conversion_failures": "null"}
    return replace(found, debezium=replace(found.debezium, **{**allowed, **changes}))


def narrow(value: Any) -> Any:
    """Return a value with the digits that 32 bits have: in the text, a FLOAT has fewer."""
    if isinstance(value, dict):
        return {name: narrow(each) for name, each in value.items()}
    if isinstance(value, list):
        return [narrow(each) for each in value]
    if isinstance(value, float) and abs(value) < FLOAT_MAX:
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    return value


def records(folder: Path, chosen: EnvelopeOptions) -> list[Record]:
    """Return our records of the story, without those of schemas."""
    found = encoded_log(folder, GOLDEN / SERVERS[0], f"{DATABASE}.*", chosen)
    return [each for each in found if each.topic.startswith(f"ours.{DATABASE}")]


@pytest.mark.parametrize("name", CHOSEN)
def test_avro_has_the_values_of_json(tmp_path: Path, name: str) -> None:
    ids = NumberedSchemas()
    formats = {"key_format": "avro", "value_format": "avro"}
    written = records(tmp_path, replace(options(name, **formats), schema_ids=ids))
    wanted = records(tmp_path, options(name, key_format="json", value_format="json"))
    assert len(written) == len(wanted)
    own = RegistryValues(ids)
    for each, plain in zip(written, wanted, strict=True):
        assert (each.topic, each.headers) == (plain.topic, plain.headers)
        for found, text in ((each.key, plain.key), (each.value, plain.value)):
            if text is None or found is None:
                assert found is text
                continue
            values = json.loads(readable(found, ids.text))["payload"]
            # As text, because the order counts.
            assert json.dumps(narrow(values)) == json.dumps(narrow(json.loads(text)))
    # What the comparison with the log reads itself.
    value = next(each.value for each in written if each.value is not None)
    number = int.from_bytes(value[1:5], "big")
    own.id_of("", "AVRO", ids.text(number))
    assert own.read(value).keys() == json.loads(readable(value, ids.text))["payload"].keys()


@pytest.mark.parametrize("name", CHOSEN)
def test_json_schema_describes_the_json(tmp_path: Path, name: str) -> None:
    ids = NumberedSchemas()
    formats = {"key_format": "json_schema", "value_format": "json_schema"}
    written = records(tmp_path, replace(options(name, **formats), schema_ids=ids))
    wanted = records(tmp_path, options(name, key_format="json", value_format="json"))
    validators: dict[int, Any] = {}
    for each, plain in zip(written, wanted, strict=True):
        for found, text in ((each.key, plain.key), (each.value, plain.value)):
            if found is None:
                assert text in (None, b"null")
                continue
            assert text == found[5:]
            number = int.from_bytes(found[:5], "big")
            if number not in validators:
                # Decimals are numbers in the schema and base64 in the text, as with Connect.
                schema = ids.text(number).replace('"type":"number"', '"type":["number","string"]')
                validators[number] = jsonschema.Draft7Validator(json.loads(schema))
            validators[number].validate(json.loads(text))


def test_each_subject_is_that_of_a_topic(tmp_path: Path) -> None:
    found = {}
    for strategy in ("topic", "record", "topic_record"):
        ids = NumberedSchemas()
        chosen = options("defaults", key_format="avro", value_format="avro")
        records(tmp_path, replace(chosen, schema_ids=ids, subjects=strategy))
        found[strategy] = {subject for subject, _ in ids.subjects}
    topic, name = f"ours.{DATABASE}.bits", f"ours.{DATABASE}.bits.Key"
    assert f"{topic}-key" in found["topic"]
    assert f"{topic}-value" in found["topic"]
    assert name in found["record"]
    assert f"{topic}-{name}" in found["topic_record"]
