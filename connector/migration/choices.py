"""Properties that choose tables, columns and keys become patterns."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from connector.errors import ConfigError
from connector.errors import migration as codes
from connector.migration.patterns import Inexpressible, patterns, split_list

if TYPE_CHECKING:
    from connector.migration.draft import Draft

_TABLE: Final = 2  # parts of a name
_COLUMN: Final = 3
_CASE: Final = "letters of names have a case here: write them as the server does"
_HELPERS: Final = "tables of gh-ost and pt-online-schema-change match only without a wildcard"
_MASK: Final = re.compile(
    r"column\.(?:mask\.with\.(?P<chars>[0-9]{1,10}|length)\.chars|truncate\.to\.(?P<truncate>[0-9]{1,10})\.chars"
    r"|mask\.hash\.(?P<v2>v2\.)?(?P<hash>.+?)\.with\.salt\.(?P<salt>.+))"
)


def convert_choices(draft: Draft) -> None:
    """Convert the choices; raises ConfigError for an expression that no patterns stand for."""
    _convert_tables(draft)
    _convert_columns(draft)
    _convert_masks(draft)
    _convert_message_keys(draft)
    _convert_source_types(draft)


def _convert_tables(draft: Draft) -> None:
    databases = _list(draft, 1, "database.include.list", "database.whitelist")
    tables = _list(draft, _TABLE, "table.include.list", "table.whitelist")
    if tables is None:
        followed = [f"{database}.*" for database in databases or ["*"]]
    elif databases is None:
        followed = tables
    else:
        followed = _of_databases(draft, tables, databases)
    said = _said(draft, "database.include.list", "table.include.list")
    draft.set("source.tables", followed, *(said or ["Debezium follows all tables, too"]))
    if said:
        draft.say("source.tables", _CASE)
    if any(map(_is_open, followed)):
        draft.say("source.tables", _HELPERS)
    hidden = _list(draft, 1, "database.exclude.list", "database.blacklist") or []
    excluded = [f"{database}.*" for database in hidden]
    excluded += _list(draft, _TABLE, "table.exclude.list", "table.blacklist") or []
    if excluded:
        said = _said(draft, "database.exclude.list", "table.exclude.list")
        draft.set("source.exclude_tables", excluded, *said, _CASE)


def _of_databases(draft: Draft, tables: list[str], databases: list[str]) -> list[str]:
    """Return the patterns of tables within databases: Debezium wants both to match."""
    found: dict[str, None] = {}
    for pattern in tables:
        database, _, table = pattern.partition(".")
        for other in databases:
            if database == other or (fnmatchcase(database, other) and not _is_open(database)):
                found[pattern] = None
            elif not _is_open(other):
                if fnmatchcase(other, database):
                    found[f"{other}.{table}"] = None
            elif other == "*":
                found[pattern] = None
            elif database == "*":
                found[f"{other}.{table}"] = None
            elif _is_open(database):
                why = f"together with {other!r} of database.include.list"
                raise _refused(draft, "table.include.list", pattern, why)
    if not found:
        why = "no database of database.include.list has such a table"
        raise _refused(draft, "table.include.list", ",".join(tables), why)
    return list(found)


def _is_open(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _convert_columns(draft: Draft) -> None:
    for name, old, key in (
        ("column.include.list", "column.whitelist", "source.columns"),
        ("column.exclude.list", "column.blacklist", "source.exclude_columns"),
    ):
        found = _list(draft, _COLUMN, name, old)
        if found is not None:
            draft.set(key, found, *_said(draft, name))
    if draft.value("source.columns") is not None:
        draft.say("source.columns", "here, tables that no pattern names have all columns")


def _convert_masks(draft: Draft) -> None:
    masks: list[dict[str, object]] = []
    for name in list(draft.left):
        found = _MASK.fullmatch(name)
        if found is None or found["chars"] == "length":
            continue
        columns = _list(draft, _COLUMN, name)
        if columns is None:
            continue
        mask: dict[str, object] = {"columns": columns}
        if found["hash"]:
            mask |= {"hash": found["hash"].upper(), "salt": found["salt"]}
            if not found["v2"]:
                mask["version"] = 1
        else:
            kind = "chars" if found["chars"] else "truncate"
            mask[kind] = int(found[kind])
        masks.append(mask)
        draft.say("source.masks", f"{name} = {draft.connector.properties[name]}")
        if found["hash"]:
            draft.say("source.masks", "let nobody read the salt who may not know the values")
    if masks:
        draft.set("source.masks", masks)


def _convert_message_keys(draft: Draft) -> None:
    name = "message.key.columns"
    text = draft.pop(name)
    if text is None:
        return
    keys = []
    for part in split_list(text, ";"):
        table, colon, columns = part.rpartition(":")
        if not colon:
            raise _refused(draft, name, part, "it names no columns")
        keys += [f"{pattern}:{columns}" for pattern in _patterns(draft, name, table, _TABLE)]
    draft.take(name, "envelope.message_keys", keys, text)


def _convert_source_types(draft: Draft) -> None:
    for name, key in (
        ("column.propagate.source.type", "envelope.source_types"),
        ("datatype.propagate.source.type", "envelope.source_types_by_type"),
    ):
        found = _list(draft, _COLUMN, name)
        if found is not None:
            draft.set(key, found, *_said(draft, name))


def _list(draft: Draft, parts: int, *names: str) -> list[str] | None:
    """Return the patterns of a list, under its newest name or an older one; None without it."""
    text = draft.pop(*names)
    if text is None:
        return None
    found: dict[str, None] = {}
    for expression in split_list(text):
        found |= dict.fromkeys(_patterns(draft, names[0], expression, parts))
    return list(found)


def _patterns(draft: Draft, name: str, expression: str, parts: int) -> list[str]:
    try:
        return patterns(expression, parts)
    except Inexpressible as error:
        raise _refused(draft, name, expression, str(error)) from error


def _refused(draft: Draft, name: str, pattern: str, why: str) -> ConfigError:
    return ConfigError(
        codes.PATTERN, path=draft.connector.path, name=name, pattern=pattern, why=why
    )


def _said(draft: Draft, *names: str) -> list[str]:
    """Return the lines that show properties and their older names."""
    older = [name.replace("include.list", "whitelist") for name in names]
    older += [name.replace("exclude.list", "blacklist") for name in names]
    properties = draft.connector.properties
    return [
        f"{name} = {properties[name]}"
        for name in dict.fromkeys((*names, *older))
        if name in properties
    ]
