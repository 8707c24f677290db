"""Converts properties that affect the bytes of records to keys of `[envelope]` and `[registry]`.

They are the converters of keys and values, with or without a schema registry, and the
transformations; EventRouter becomes `[envelope.outbox]`.

https://docs.confluent.io/platform/current/schema-registry/connect.html
https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/
https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

from typing import Final

from connector.foundation.record_formats import FLAT_FIELDS
from connector.stream.migration import property_notes
from connector.stream.migration.draft import FLAGS, Draft
from connector.stream.migration.kafka_connect import REFERENCE
from connector.stream.migration.patterns import NoPattern, patterns, split_list

# By the last part of the name of a converter.
FORMATS: Final[dict[str, str]] = {"AvroConverter": "avro", "JsonSchemaConverter": "json_schema"}

_URL: Final = "schema.registry.url"
_APICURIO: Final = "apicurio.registry."
# Apicurio's own interface, and the one of Confluent's that it has beside it.
_APICURIO_PATH: Final = "/apis/registry/v2"
_CONFLUENT_PATH: Final = "/apis/ccompat/v7"
_STRATEGIES: Final = {
    "TopicNameStrategy": "topic",
    "RecordNameStrategy": "record",
    "TopicRecordNameStrategy": "topic_record",
}
_OTHER_IDS: Final = (
    "consumers find the id of a schema in four bytes before the record, as Confluent's converters "
    "write it"
)


def convert_registry(draft: Draft, side: str, converter: str) -> bool:
    """Convert a converter of keys or values; return whether it has a counterpart."""
    form = FORMATS.get(converter.rpartition(".")[2])
    if form is None:
        return False
    prefix = f"{side}.converter."
    draft.take(f"{side}.converter", f"envelope.{side}_format", form, converter)
    _convert_url(draft, prefix)
    _convert_login(draft, prefix)
    _convert_subjects(draft, prefix, side)
    return True


def _convert_url(draft: Draft, prefix: str) -> None:
    name = prefix + _URL
    text = draft.pop(name)
    if text is None:
        name = f"{prefix}{_APICURIO}url"
        text = draft.pop(name)
        _convert_apicurio(draft, prefix)
    text = draft.require(
        prefix + _URL, text, "it may be that of the worker: write it into the file"
    )
    urls = [url.rstrip("/").replace(_APICURIO_PATH, _CONFLUENT_PATH) for url in split_list(text)]
    other = draft.value("registry.urls")
    if other is not None and other != urls:
        draft.no_counterpart(name, f"keys and values have one registry, {other}")
        return
    draft.take(name, "registry.urls", urls, text)


def _convert_apicurio(draft: Draft, prefix: str) -> None:
    handler = draft.pop(f"{prefix}{_APICURIO}id-handler") or ""
    short = (draft.pop(f"{prefix}{_APICURIO}as-confluent") or "").lower() == "true"
    in_headers = (draft.pop(f"{prefix}{_APICURIO}headers.enabled") or "true").lower() == "true"
    if in_headers or not (short or handler.endswith("Legacy4ByteIdHandler")):
        draft.no_counterpart(f"{prefix}{_APICURIO}as-confluent", _OTHER_IDS)
    registers = draft.pop(f"{prefix}{_APICURIO}auto-register")
    # Its own default is false.
    draft.set(
        "registry.auto_register",
        (registers or "false").lower() == "true",
        f"{prefix}{_APICURIO}auto-register = {registers or 'false'}",
    )


def _convert_login(draft: Draft, prefix: str) -> None:
    source = draft.pop(f"{prefix}basic.auth.credentials.source")
    name = f"{prefix}basic.auth.user.info"
    older = f"{prefix}schema.registry.basic.auth.user.info"
    # NAME:PASSWORD, of which only the name is needed.
    login = draft.left.pop(name, "") or draft.left.pop(older, "")
    if not login:
        if source is not None and source != "USER_INFO":
            draft.note("registry.username", f"{prefix}basic.auth.credentials.source = {source}")
        return
    reference = REFERENCE.match(login)
    user = login.partition(":")[0] if reference is None else reference[0]
    draft.refuse_reference(name, user)
    draft.take(name, "registry.username", user, f"{user}:…")
    draft.note(
        "registry.password_file",
        "the password: in a file that registry.password_file names, or in",
        "BINLOG_CONNECTOR_REGISTRY__PASSWORD",
    )


def _convert_subjects(draft: Draft, prefix: str, side: str) -> None:
    registers = draft.pop(f"{prefix}auto.register.schemas")
    if registers is not None:
        is_true = registers.lower() == "true"
        draft.take(f"{prefix}auto.register.schemas", "registry.auto_register", is_true, registers)
    name = f"{prefix}{side}.subject.name.strategy"
    strategy = draft.pop(name)
    if strategy is None:
        return
    subject_strategy = _STRATEGIES.get(strategy.rpartition(".")[2])
    other = draft.value("registry.subject_strategy")
    if subject_strategy is None or other not in (None, subject_strategy):
        draft.no_counterpart(
            name, "subjects of keys and values are named by one of three strategies"
        )
        return
    draft.take(name, "registry.subject_strategy", subject_strategy, strategy)


EVENT_ROUTER: Final = "EventRouter"
_KEY: Final = "envelope.outbox."
_FIELDS: Final = {
    "table.field.event.id": "id",
    "table.field.event.key": "key",
    "table.field.event.payload": "payload",
    "route.by.field": "route_by",
}
_VALUE: Final = "${routedByValue}"
_UPDATES: Final = {"warn": "warn", "error": "warn", "fatal": "stop"}
# Options that change nothing, with these values.
_ROUTER_DEFAULTS: Final = {
    "route.topic.regex": "(?<routedByValue>.*)",
    "table.json.payload.null.behavior": "ignore",
    "route.tombstone.on.empty.payload": "false",
}
_TOPIC_PARTS: Final = 3


def takes_events(draft: Draft) -> bool:
    """Return whether the connector has the transformation."""
    return any(
        name.endswith(".type") and name.startswith("transforms.") and _is_router(value)
        for name, value in draft.connector.properties.items()
    )


def _is_router(kind: str) -> bool:
    return kind.rpartition(".")[2] == EVENT_ROUTER


def convert_outbox(draft: Draft, prefix: str, own: dict[str, str]) -> bool:
    """Convert the transformation, whose options are `own`; return False if its tables are unknown.

    Raises ConfigError for a value without a counterpart.
    """
    tables = _tables(draft, own)
    if tables is None:
        return False
    draft.set(f"{_KEY}tables", tables, f"{prefix}type = {EVENT_ROUTER}")
    for option, key in _FIELDS.items():
        if option in own:
            draft.take(f"{prefix}{option}", f"{_KEY}{key}", own.pop(option))
    topic = own.pop("route.topic.replacement", None)
    if topic is not None:
        name = f"{prefix}route.topic.replacement"
        draft.take(name, f"{_KEY}topic_name", topic.replace(_VALUE, "{value}"), topic)
    _convert_headers(draft, prefix, own)
    _convert_formats(draft)
    for option, key, values in (
        ("table.op.invalid.behavior", "on_update", _UPDATES),
        ("table.expand.json.payload", "expand_payload", FLAGS),
    ):
        text = own.pop(option, None)
        if text is not None:
            value = draft.one_of(f"{prefix}{option}", text, values)
            draft.take(f"{prefix}{option}", f"{_KEY}{key}", value, text)
    for option, value in own.items():
        if _ROUTER_DEFAULTS.get(option) != value:
            draft.no_counterpart(f"{prefix}{option}", "events have the parts that are named above")
    return True


def _tables(draft: Draft, own: dict[str, str]) -> list[str] | None:
    """Return the patterns of the tables that are outboxes: those of a predicate, or all."""
    name = own.pop("predicate", None)
    if name is None:
        followed = draft.value("source.tables")
        return list(followed) if isinstance(followed, list) else None
    start = f"predicates.{name}."
    kind = draft.left.get(f"{start}type", "").rpartition(".")[2]
    expression = draft.left.get(f"{start}pattern", "")
    if kind != "TopicNameMatches" or own.get("negate", "false") != "false":
        return None
    try:
        names = [pattern.split(".", 1) for pattern in patterns(expression, _TOPIC_PARTS)]
    except NoPattern:
        return None
    if any(first not in (draft.connector.prefix, "*") for first, _ in names):
        return None
    for left in ("predicates", f"{start}type", f"{start}pattern"):
        draft.left.pop(left, None)
    own.pop("negate", None)
    return list(dict.fromkeys(rest for _, rest in names))


def _convert_headers(draft: Draft, prefix: str, own: dict[str, str]) -> None:
    option = "table.fields.additional.placement"
    text = own.pop(option, None)
    if text is None:
        return
    headers = []
    for item in split_list(text):
        column, _, rest = item.partition(":")
        place, _, alias = rest.partition(":")
        if place == "header":
            headers.append(f"{column}:{alias}" if alias else column)
        else:
            draft.no_counterpart(f"{prefix}{option}", f"{item}: events have only headers")
    draft.take(f"{prefix}{option}", f"{_KEY}headers", headers, text)


def _convert_formats(draft: Draft) -> None:
    for side in ("key", "value"):
        name = f"{side}.converter"
        converter = draft.connector.properties.get(name, "")
        form = "json"
        if converter.endswith(property_notes.PLAIN_CONVERTERS):
            form = "plain"
        elif converter == property_notes.JSON_CONVERTER:
            has_schema = draft.connector.properties.get(f"{name}.schemas.enable", "true")
            form = "json_with_schema" if has_schema.lower() == "true" else "json"
        draft.set(f"{_KEY}{side}_format", form, f"{name} = {converter or '(of the worker)'}")


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
_UNWRAP_DEFAULTS: Final = {
    "add.fields.prefix": "__",
    "delete.handling.mode": "",
    "drop.tombstones": "",
}


def convert_records(draft: Draft) -> None:
    """Convert what decides on the bytes; raises ConfigError for a value without a counterpart."""
    draft.set("envelope.profile", "debezium", "keys and values as Debezium writes them")
    for name, (key, values) in _OPTIONS.items():
        draft.mapped(name, f"envelope.{key}", values)
    skipped = draft.pop("skipped.operations")
    if skipped is not None:
        listed = [
            operation.lower() for operation in split_list(skipped) if operation.lower() != "none"
        ]
        operations = [
            draft.one_of("skipped.operations", operation, _OPERATIONS) for operation in listed
        ]
        draft.take("skipped.operations", "envelope.skipped_operations", operations, skipped)
    for side in ("key", "value"):
        _convert_converter(draft, side)
    _convert_transformations(draft)


def _convert_converter(draft: Draft, side: str) -> None:
    name = f"{side}.converter"
    schemas = draft.pop(f"{name}.schemas.enable")
    advice = f"the worker has it: give its file by --worker, or add {name} to the JSON file"
    converter = draft.require(name, draft.pop(name), advice)
    key = f"envelope.{side}_format"
    if converter == property_notes.JSON_CONVERTER:
        # Its own default.
        has_schema = (schemas or "true").lower() == "true"
        form = "json_with_schema" if has_schema else "json"
        draft.take(name, key, form, f"{converter}, {name}.schemas.enable = {schemas or 'true'}")
    elif side == "value" and converter.endswith(".CloudEventsConverter"):
        draft.take(name, key, "cloudevents", converter)
        option = f"{name}.json.schemas.enable"
        if (draft.pop(option) or "true").lower() == "true":
            draft.no_counterpart(option, "`data` has no schema")
    elif takes_events(draft) and converter.endswith(property_notes.PLAIN_CONVERTERS):
        draft.note(key, f"{name} = {converter}: see envelope.outbox.{side}_format")
    elif not convert_registry(draft, side, converter):
        needs = property_notes.CONVERTERS.get(
            converter.rpartition(".")[2], "a converter that is unknown here"
        )
        draft.no_counterpart(name, f"records are JSON without schemas; it would need: {needs}")


def _convert_transformations(draft: Draft) -> None:
    names = split_list(draft.pop("transforms") or "")
    for name in names:
        prefix = f"transforms.{name}."
        kind = draft.left.pop(f"{prefix}type", "")
        own = {
            name.removeprefix(prefix): draft.left.pop(name)
            for name in list(draft.left)
            if name.startswith(prefix)
        }
        short = kind.rpartition(".")[2].partition("$")[0]
        if short == _UNWRAP:
            _convert_unwrap(draft, prefix, own)
            continue
        if short == EVENT_ROUTER and convert_outbox(draft, prefix, own):
            continue
        meaning = property_notes.TRANSFORMATIONS.get(short, "records are written without it")
        draft.no_counterpart(f"{prefix}type", f"{meaning}; its options have no effect, either")
    if names:
        draft.note("envelope.shape", f"transforms = {', '.join(names)}")


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
        old_values = (old[0] or "true").lower(), (old[1] or "drop").lower()
        known = {", ".join(old_value): choice for old_value, choice in _OLD_DELETES.items()}
        choice = draft.one_of(f"{prefix}drop.tombstones, {name}", ", ".join(old_values), known)
        draft.take(
            f"{prefix}drop.tombstones, {name}", "envelope.flat_deletes", choice, str(old_values)
        )
    fields = own.pop("add.fields", None)
    if fields is not None:
        name = f"{prefix}add.fields"
        known = {field.lower(): field for field in FLAT_FIELDS}
        found_fields = [draft.one_of(name, field, known) for field in split_list(fields)]
        draft.take(name, "envelope.flat_fields", found_fields, fields)
    for option, value in own.items():
        if option not in _UNWRAP_DEFAULTS or _UNWRAP_DEFAULTS[option] not in ("", value):
            meaning = "rows have the fields of envelope.flat_fields, and nothing else is added"
            draft.no_counterpart(f"{prefix}{option}", meaning)
