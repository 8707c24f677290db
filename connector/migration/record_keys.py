"""Properties of keys and values, converters and transformations become keys of `[envelope]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract.flat_fields import FLAT_FIELDS
from connector.migration.known_properties import (
    CONVERTERS,
    JSON_CONVERTER,
    PLAIN_CONVERTERS,
    TRANSFORMATIONS,
)
from connector.migration.outbox_keys import EVENT_ROUTER, convert_outbox, takes_events
from connector.migration.patterns import split_list
from connector.migration.registry_keys import convert_registry

if TYPE_CHECKING:
    from connector.migration.draft import Draft


def _same(*values: str) -> dict[str, str]:
    return {value: value for value in values}


_ADJUSTMENTS: Final = _same("none", "avro", "avro_unicode")
_OPTIONS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "decimal.handling.mode": ("decimals", _same("precise", "string", "double")),
    "time.precision.mode": (
        "times",
        {
            # Only TIMESTAMP would differ, and both are the same for it.
            "adaptive_time_microseconds": "adaptive_time_microseconds",
            **_same("connect", "isostring", "microseconds", "nanoseconds"),
        },
    ),
    "binary.handling.mode": ("binary", _same("bytes", "base64", "base64-url-safe", "hex")),
    "bigint.unsigned.handling.mode": ("unsigned_bigints", _same("long", "precise")),
    "event.converting.failure.handling.mode": (
        "conversion_failures",
        {"fail": "fail", "warn": "null", "skip": "null"},
    ),
    "field.name.adjustment.mode": ("field_names", _ADJUSTMENTS),
    "schema.name.adjustment.mode": ("schema_names", _ADJUSTMENTS),
}
_OPERATIONS: Final = {"c": "c", "u": "u", "d": "d", "t": "t"}
_UNWRAP: Final = "ExtractNewRecordState"
_DELETES: Final = _same(
    "tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"
)
# What was there before Debezium 2.6: drop.tombstones and delete.handling.mode.
_OLD_DELETES: Final = {
    ("true", "drop"): "drop",
    ("true", "rewrite"): "rewrite",
    ("false", "rewrite"): "rewrite-with-tombstone",
}
# Options of the transformation that change nothing, with these values.
_PLAIN: Final = {"add.fields.prefix": "__", "delete.handling.mode": "", "drop.tombstones": ""}


def convert_records(draft: Draft) -> None:
    """Convert what decides on the bytes; raises ConfigError for a value without a counterpart."""
    draft.set("envelope.profile", "debezium", "keys and values as Debezium writes them")
    for name, (key, values) in _OPTIONS.items():
        draft.mapped(name, f"envelope.{key}", values)
    skipped = draft.pop("skipped.operations")
    if skipped is not None:
        listed = [each.lower() for each in split_list(skipped) if each.lower() != "none"]
        found = [draft.one_of("skipped.operations", each, _OPERATIONS) for each in listed]
        draft.take("skipped.operations", "envelope.skipped_operations", found, skipped)
    for side in ("key", "value"):
        _convert_converter(draft, side)
    _convert_transformations(draft)


def _convert_converter(draft: Draft, side: str) -> None:
    name = f"{side}.converter"
    schemas = draft.pop(f"{name}.schemas.enable")
    advice = f"the worker has it: give its file by --worker, or add {name} to the JSON file"
    converter = draft.require(name, draft.pop(name), advice)
    key = f"envelope.{side}_format"
    if converter == JSON_CONVERTER:
        # Its own default.
        has_schema = (schemas or "true").lower() == "true"
        found = "json_with_schema" if has_schema else "json"
        draft.take(name, key, found, f"{converter}, {name}.schemas.enable = {schemas or 'true'}")
    elif side == "value" and converter.endswith(".CloudEventsConverter"):
        draft.take(name, key, "cloudevents", converter)
        option = f"{name}.json.schemas.enable"
        if (draft.pop(option) or "true").lower() == "true":
            draft.no_counterpart(option, "`data` has no schema")
    elif takes_events(draft) and converter.endswith(PLAIN_CONVERTERS):
        draft.say(key, f"{name} = {converter}: see envelope.outbox.{side}_format")
    elif not convert_registry(draft, side, converter):
        needs = CONVERTERS.get(converter.rpartition(".")[2], "a converter that is unknown here")
        draft.no_counterpart(name, f"records are JSON without schemas; it would need: {needs}")


def _convert_transformations(draft: Draft) -> None:
    names = split_list(draft.pop("transforms") or "")
    for name in names:
        prefix = f"transforms.{name}."
        kind = draft.left.pop(f"{prefix}type", "")
        own = {
            each.removeprefix(prefix): draft.left.pop(each)
            for each in list(draft.left)
            if each.startswith(prefix)
        }
        short = kind.rpartition(".")[2].partition("$")[0]
        if short == _UNWRAP:
            _convert_unwrap(draft, prefix, own)
            continue
        if short == EVENT_ROUTER and convert_outbox(draft, prefix, own):
            continue
        meaning = TRANSFORMATIONS.get(short, "records are written without it")
        draft.no_counterpart(f"{prefix}type", f"{meaning}; its options have no effect, either")
    if names:
        draft.say("envelope.shape", f"transforms = {', '.join(names)}")


def _convert_unwrap(draft: Draft, prefix: str, own: dict[str, str]) -> None:
    """Convert ExtractNewRecordState; `own` are its options."""
    draft.set("envelope.shape", "flat", f"{prefix}type = {_UNWRAP}")
    deletes = own.pop("delete.tombstone.handling.mode", None)
    old = own.get("drop.tombstones"), own.get("delete.handling.mode")
    if deletes is not None:
        name = f"{prefix}delete.tombstone.handling.mode"
        draft.take(name, "envelope.flat_deletes", draft.one_of(name, deletes, _DELETES), deletes)
    elif old != (None, None):
        name = f"{prefix}delete.handling.mode"
        said = (old[0] or "true").lower(), (old[1] or "drop").lower()
        known = {", ".join(each): found for each, found in _OLD_DELETES.items()}
        found = draft.one_of(f"{prefix}drop.tombstones, {name}", ", ".join(said), known)
        draft.take(f"{prefix}drop.tombstones, {name}", "envelope.flat_deletes", found, str(said))
    fields = own.pop("add.fields", None)
    if fields is not None:
        name = f"{prefix}add.fields"
        known = {field.lower(): field for field in FLAT_FIELDS}
        found_fields = [draft.one_of(name, each, known) for each in split_list(fields)]
        draft.take(name, "envelope.flat_fields", found_fields, fields)
    for option, value in own.items():
        if option not in _PLAIN or _PLAIN[option] not in ("", value):
            meaning = "rows have the fields of envelope.flat_fields, and nothing else is added"
            draft.no_counterpart(f"{prefix}{option}", meaning)
