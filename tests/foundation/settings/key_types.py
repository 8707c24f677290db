"""The types of settings in words: what a value is, its limits and its default."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import AfterValidator, BaseModel, SecretStr
from pydantic.fields import FieldInfo

from connector.foundation.settings import values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAMES = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "`true` or `false`",
    Path: "path of a file",
    SecretStr: "text, kept secret",
}
# Text with a form of its own, by the check of the form.
_FORMS = {
    values.TablePattern: "pattern of tables, `database.table`",
    values.ColumnPattern: "pattern of columns, `database.table.column`",
    values.MessageKey: "text, `database.table:column,column`",
    values.FlatField: "name of a field",
    values.RegistryUrl: "URL, `http://HOST:PORT`",
    values.StartSetting: "start point",
    values.ServerAddress: "address, `HOST` or `HOST:PORT`",
    values.BrokerAddress: "address, `HOST` or `HOST:PORT`; or `file:///FOLDER`",
    values.ListenAddress: "address, `HOST:PORT`",
    values.CollectorAddress: "address, `http://HOST:PORT`",
    values.PipelineName: "text of letters, digits, `.`, `_` and `-`",
    values.TopicPrefix: "text of letters, digits, `_` and `-`",
}
_CHECKS: dict[object, str] = {get_args(form)[1].func: words for form, words in _FORMS.items()}
# Checks without a form of their own, by their names.
_NAMED_CHECKS = {
    "_topic.<locals>.check": "name of a topic, in which names may stand in braces",
    "_as_event_header": "text, `column` or `column:header`",
    "_as_mirror_name": "text, `database.name`",
    "_as_catalog_url": "URL, `https://HOST/PATH`",
    "_as_token_url": "URL, `https://HOST/PATH`",
    "_as_namespace": "name of a namespace",
    "_as_database": "name of a database",
    "_with_delta": 'list of `"delta"` and `"iceberg"`, with `"delta"`',
}


def section_of(annotation: object) -> type[BaseModel] | None:
    """Return the section that a key holds, one of it or a list of them; None for a value."""
    if get_origin(annotation) is list:
        return section_of(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None


def type_of(field: FieldInfo) -> str:
    """Return what a value is."""
    return _words(field.annotation, field.metadata)


def limits_of(field: FieldInfo) -> str:
    """Return the limits of a value; empty if there are none."""
    limits = list(_limits(field.metadata))
    if get_origin(field.annotation) in (Union, UnionType):
        # Those of the type that stands beside None.
        for member in get_args(field.annotation):
            limits += _limits(getattr(member, "__metadata__", ()))
    words = {type(limit): _limit(limit) for limit in limits}
    if {Ge, Le} <= words.keys():
        least, most = (words.pop(kind).rpartition(" ")[2] for kind in (Ge, Le))
        return f"{least} to {most}"
    return ", ".join(words.values())


def _limits(metadata: Iterable[object]) -> Iterator[object]:
    for each in metadata:
        if isinstance(each, FieldInfo):
            yield from _limits(each.metadata)
        elif isinstance(each, Ge | Gt | Le | MinLen | MaxLen):
            yield each


def default_of(field: FieldInfo) -> str | None:
    """Return the default as TOML; None without one, and "none" if the key may be absent."""
    if field.is_required():
        return None
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return "none" if default is None else f"`{json.dumps(default)}`"


def _words(annotation: Any, checks: list[Any]) -> str:
    for check in checks:
        if isinstance(check, AfterValidator):
            function: Any = check.func
            return _CHECKS.get(function) or _NAMED_CHECKS[function.__qualname__]
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(members[0], list(members[1:]))
    if origin is Literal:
        return "one of " + ", ".join(f"`{json.dumps(value)}`" for value in members)
    if origin in (Union, UnionType):
        return " or ".join(_words(each, []) for each in members if each is not NoneType)
    if origin is list:
        return f"list; each item: {_words(members[0], [])}"
    if origin is dict:
        return "table of names and values"
    if section_of(annotation) is not None:
        return "table"
    return _NAMES[annotation]


def _limit(limit: object) -> str:
    match limit:
        case Ge():
            return f"at least {_number(limit.ge)}"
        case Gt():
            return f"more than {_number(limit.gt)}"
        case Le():
            return f"at most {_number(limit.le)}"
        case MinLen():
            return f"length at least {limit.min_length}"
        case MaxLen():
            return f"length at most {limit.max_length}"
    raise TypeError(limit)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)
