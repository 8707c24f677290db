"""The options with which both programs run; each set is a connector of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from connector.foundation.settings.envelope import EnvelopeSettings
from connector.foundation.settings.sections import SourceSettings
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.source.record_options import column_choice
from tests.debezium.story import DATABASE

if TYPE_CHECKING:
    from connector.stream.envelope.debezium.registry_schemas import SchemaIds


@dataclass(frozen=True)
class OptionSet:
    """The same options, in Debezium's words and in ours."""

    name: str
    theirs: dict[str, str] = field(default_factory=dict)
    envelope: dict[str, object] = field(default_factory=dict)
    tombstones: bool = True
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def is_avro(self) -> bool:
        """Whether keys and values are in Avro."""
        return self.envelope.get("value_format") == "avro"

    @property
    def settings(self) -> dict[str, object]:
        """Return our keys, as `write_config` takes them."""
        return {
            "envelope__profile": "debezium",
            "kafka__tombstones": self.tombstones,
            **{f"envelope__{key}": value for key, value in self.envelope.items()},
            **{f"source__{key}": value for key, value in self.source.items()},
        }

    def options(
        self, flavour: str, database: str = DATABASE, schema_ids: SchemaIds | None = None
    ) -> EnvelopeOptions:
        """Return what our encoder needs for a server of `flavour`, with the story in `database`."""
        text = _moved({"profile": "debezium", **self.envelope}, database)
        chosen = EnvelopeSettings.model_validate_json(text)
        return EnvelopeOptions(
            "ours",
            flavour,
            "1",
            tombstones=self.tombstones,
            debezium=DebeziumProfile.of_options(chosen.of_debezium),
            columns=column_choice(self.source_settings(database)),
            schema_ids=schema_ids,
        )

    def source_settings(self, database: str = DATABASE) -> SourceSettings:
        """Return the settings of a source with the choice of columns of `database`."""
        text = _moved({"server_id": 1, **self.source}, database)
        return SourceSettings.model_validate_json(text)


def _moved(settings: dict[str, Any], database: str) -> str:
    """Return settings as JSON, with another database in their names of columns."""
    return json.dumps(settings).replace(f'"{DATABASE}.', f'"{database}.')


_SCHEMAS = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
_WITH_SCHEMAS: dict[str, object] = {
    "key_format": "json_with_schema",
    "value_format": "json_with_schema",
}
_FLAT = {
    "transforms": "flat",
    "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
}


def _flat(name: str, deletes: str, *fields: str, **others: Any) -> OptionSet:
    """Return a set of rows without an envelope; the fields tell the comparison what a record is."""
    fields = ("op", "source.connector", *fields)
    theirs = {
        **_FLAT,
        "transforms.flat.delete.tombstone.handling.mode": deletes,
        "transforms.flat.add.fields": ",".join(fields),
        **others.pop("theirs", {}),
    }
    ours = {"shape": "flat", "flat_deletes": deletes, "flat_fields": [*fields]}
    return OptionSet(name, theirs, {**ours, **others.pop("envelope", {})}, **others)


_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"


def registry_options(url: str) -> dict[str, str]:
    """Return how Debezium's converters find the registry at `url`; theirs are as Confluent's."""
    options = {
        "url": f"{url}/apis/registry/v2",
        "auto-register": "true",
        "headers.enabled": "false",
        "as-confluent": "true",
        "use-id": "contentId",
    }
    return {
        f"{side}.converter.apicurio.registry.{name}": value
        for side in ("key", "value")
        for name, value in options.items()
    }


SETS = (
    OptionSet("defaults"),
    OptionSet(
        "avro",
        {
            "key.converter": _AVRO,
            "value.converter": _AVRO,
            "field.name.adjustment.mode": "avro",
            "schema.name.adjustment.mode": "avro",
        },
        {
            "key_format": "avro",
            "value_format": "avro",
            "field_names": "avro",
            "schema_names": "avro",
        },
    ),
    OptionSet("schemas", _SCHEMAS, _WITH_SCHEMAS),
    OptionSet(
        "cloudevents",
        {
            "value.converter": "io.debezium.converters.CloudEventsConverter",
            "value.converter.json.schemas.enable": "false",
        },
        {"value_format": "cloudevents"},
    ),
    OptionSet(
        "texts",
        {
            "decimal.handling.mode": "string",
            "time.precision.mode": "isostring",
            "binary.handling.mode": "base64-url-safe",
            "bigint.unsigned.handling.mode": "precise",
            "tombstones.on.delete": "false",
            "field.name.adjustment.mode": "avro",
            "schema.name.adjustment.mode": "avro",
            "value.converter.schemas.enable": "true",
        },
        {
            "decimals": "string",
            "times": "isostring",
            "binary": "base64-url-safe",
            "unsigned_bigints": "precise",
            "conversion_failures": "null",
            "field_names": "avro",
            "schema_names": "avro",
            "value_format": "json_with_schema",
        },
        tombstones=False,
    ),
    OptionSet(
        "connect",
        {
            "decimal.handling.mode": "double",
            "time.precision.mode": "connect",
            "binary.handling.mode": "hex",
            "bigint.unsigned.handling.mode": "precise",
            "field.name.adjustment.mode": "avro_unicode",
            "skipped.operations": "none",
            "schema.name.adjustment.mode": "avro_unicode",
            **_SCHEMAS,
        },
        {
            "decimals": "double",
            "times": "connect",
            "binary": "hex",
            "unsigned_bigints": "precise",
            "conversion_failures": "null",
            "field_names": "avro_unicode",
            "skipped_operations": [],
            "schema_names": "avro_unicode",
            **_WITH_SCHEMAS,
        },
    ),
    OptionSet(
        "microseconds",
        {
            "time.precision.mode": "microseconds",
            "binary.handling.mode": "base64",
            "skipped.operations": "u,t",
            "key.converter.schemas.enable": "true",
        },
        {
            "times": "microseconds",
            "binary": "base64",
            "skipped_operations": ["u", "t"],
            "key_format": "json_with_schema",
        },
    ),
    OptionSet(
        "nanoseconds",
        {"time.precision.mode": "nanoseconds", "skipped.operations": "d,t", **_SCHEMAS},
        {
            "times": "nanoseconds",
            "conversion_failures": "null",
            "skipped_operations": ["d", "t"],
            **_WITH_SCHEMAS,
        },
    ),
    OptionSet(
        "columns",
        {
            "column.exclude.list": "story.integers.c[34],story.times.c0,story.altered.a",
            "column.mask.with.8.chars": "story.texts.c4,story.texts.c11,story.required.c8",
            "column.mask.with.0.chars": "story.texts.c2",
            "column.truncate.to.5.chars": "story.texts.c3,story.texts.c8,story.texts.c9",
            "column.mask.hash.SHA-256.with.salt.CAFE": "story.texts.c0,story.texts.c10",
            "column.mask.hash.MD5.with.salt.x": "story.texts.c6,story.texts.c13",
            "column.mask.hash.v2.SHA-256.with.salt.CAFE": "story.texts.c1,story.texts.c12",
            "column.mask.hash.v2.SHA-512.with.salt.x": "story.texts.c5,story.texts.c7",
            "message.key.columns": "story.composite:v,a;story.without_key:b;story.later:at,id",
            **_SCHEMAS,
        },
        {
            "message_keys": ["story.composite:v,a", "story.without_key:b", "story.later:at,id"],
            **_WITH_SCHEMAS,
        },
        source={
            "exclude_columns": ["story.integers.c[34]", "story.times.c0", "story.altered.a"],
            "masks": [
                {
                    "columns": ["story.texts.c4", "story.texts.c11", "story.required.c8"],
                    "chars": 8,
                },
                {"columns": ["story.texts.c2"], "chars": 0},
                {
                    "columns": ["story.texts.c3", "story.texts.c8", "story.texts.c9"],
                    "truncate": 5,
                },
                {
                    "columns": ["story.texts.c0", "story.texts.c10"],
                    "hash": "SHA-256",
                    "salt": "CAFE",
                    "version": 1,
                },
                {
                    "columns": ["story.texts.c6", "story.texts.c13"],
                    "hash": "MD5",
                    "salt": "x",
                    "version": 1,
                },
                {
                    "columns": ["story.texts.c1", "story.texts.c12"],
                    "hash": "SHA-256",
                    "salt": "CAFE",
                },
                {"columns": ["story.texts.c[57]"], "hash": "SHA-512", "salt": "x"},
            ],
        },
    ),
    OptionSet(
        "source_types",
        {
            "column.propagate.source.type": "story.[^it].*,story.texts.*",
            "datatype.propagate.source.type": r".+\.INT UNSIGNED.*,story\.times\.DATE.*",
            "column.mask.with.8.chars": "story.texts.c4",
            "column.truncate.to.5.chars": "story.texts.c3",
            **_SCHEMAS,
        },
        {
            "source_types": ["*.[!it]*.*", "*.texts.*"],
            "source_types_by_type": ["*.*.INT UNSIGNED*", "*.times.DATE*"],
            **_WITH_SCHEMAS,
        },
        source={
            "masks": [
                {"columns": ["story.texts.c4"], "chars": 8},
                {"columns": ["story.texts.c3"], "truncate": 5},
            ],
        },
    ),
    _flat("flat", "tombstone", "table", "source.ts_ms"),
    _flat("flat_schemas", "tombstone", theirs=_SCHEMAS, envelope=_WITH_SCHEMAS),
    _flat(
        "flat_rewritten",
        "rewrite",
        "db",
        "pos",
        "row",
        "thread",
        "snapshot",
        "query",
        "gtid",
        "name",
        "file",
        "server_id",
        "source.ts_ms",
        "source.ts_us",
        "source.ts_ns",
        "sequence",
        theirs={**_SCHEMAS, "skipped.operations": "none"},
        envelope={**_WITH_SCHEMAS, "skipped_operations": []},
    ),
    _flat("flat_kept", "rewrite-with-tombstone"),
    _flat("flat_dropped", "drop"),
    _flat(
        "flat_tombstones",
        "delete-to-tombstone",
        theirs={"tombstones.on.delete": "false", "value.converter.schemas.enable": "true"},
        envelope={"value_format": "json_with_schema"},
        tombstones=False,
    ),
)
