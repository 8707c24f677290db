"""The formats of keys and values in the profile `debezium`."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

KeyFormat: TypeAlias = Literal["json", "json_with_schema", "avro", "json_schema"]
ValueFormat: TypeAlias = Literal["json", "json_with_schema", "avro", "json_schema", "cloudevents"]
# Those whose schemas a registry has.
REGISTERED: Final = ("avro", "json_schema")
# How the subjects of a registry are named, as Confluent's TopicNameStrategy, RecordNameStrategy and
# TopicRecordNameStrategy do.
SubjectStrategy: TypeAlias = Literal["topic", "record", "topic_record"]
