"""The options of the transformation EventRouter become keys of `[envelope.outbox]`.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.migration.draft import FLAGS
from connector.migration.known_properties import JSON_CONVERTER, PLAIN_CONVERTERS
from connector.migration.patterns import Inexpressible, patterns, split_list

if TYPE_CHECKING:
    from connector.migration.draft import Draft

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
_PLAIN: Final = {
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
        if _PLAIN.get(option) != value:
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
        found = [each.split(".", 1) for each in patterns(expression, _TOPIC_PARTS)]
    except Inexpressible:
        return None
    if any(first not in (draft.connector.prefix, "*") for first, _ in found):
        return None
    for left in ("predicates", f"{start}type", f"{start}pattern"):
        draft.left.pop(left, None)
    own.pop("negate", None)
    return list(dict.fromkeys(rest for _, rest in found))


def _convert_headers(draft: Draft, prefix: str, own: dict[str, str]) -> None:
    option = "table.fields.additional.placement"
    text = own.pop(option, None)
    if text is None:
        return
    headers = []
    for each in split_list(text):
        column, _, rest = each.partition(":")
        place, _, alias = rest.partition(":")
        if place == "header":
            headers.append(f"{column}:{alias}" if alias else column)
        else:
            draft.no_counterpart(f"{prefix}{option}", f"{each}: events have only headers")
    draft.take(f"{prefix}{option}", f"{_KEY}headers", headers, text)


def _convert_formats(draft: Draft) -> None:
    for side in ("key", "value"):
        name = f"{side}.converter"
        converter = draft.connector.properties.get(name, "")
        found = "json"
        if converter.endswith(PLAIN_CONVERTERS):
            found = "plain"
        elif converter == JSON_CONVERTER:
            has_schema = draft.connector.properties.get(f"{name}.schemas.enable", "true")
            found = "json_with_schema" if has_schema.lower() == "true" else "json"
        draft.set(f"{_KEY}{side}_format", found, f"{name} = {converter or '(of the worker)'}")
