"""Converts lists of tables, columns and keys from regular expressions to `*`, `?` and `[...]`.

An expression of Debezium has to match a whole name such as `database.table`. Names have no dots
of their own here, so an unescaped dot is either the one between database and table, or one
character. Each of these meanings gives a pattern; together they match the same names. What is
left is refused: a repeated group, for example, or a look-ahead.

Debezium does not distinguish the case of letters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Final

from connector.foundation.errors import ConfigError
from connector.stream.migration import migration_errors
from connector.stream.migration.draft import Draft

# More patterns than this are no list that somebody reads.
_PATTERNS_MAX: Final = 200
_REPEATED_MAX: Final = 32
_TOO_MANY: Final = f"more than {_PATTERNS_MAX} patterns"
_NO_NAME: Final = "it matches no name"
_AFTER_OTHERS: Final = " after anything but a dot"
_SHORT: Final = {"d": "[0-9]", "w": "[a-zA-Z0-9_]"}
# Tokens of a pattern beside characters and classes.
_DOT, _ALL = "\\.", "*"


class NoPattern(Exception):
    """No list of patterns means the same; the text says which part has no counterpart."""


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, count: int = 1) -> str:
        taken = self.text[self.at : self.at + count]
        self.at += count
        return taken


def split_list(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a list; an escaped separator belongs to its part."""
    parts = re.split(rf"(?<!\\){separator}", text)
    return [part.strip().replace(f"\\{separator}", separator) for part in parts if part.strip()]


def patterns(expression: str, parts: int) -> list[str]:
    """Return patterns for names of so many `parts`, with dots between them.

    Raises Inexpressible if no patterns match exactly the same names.
    """
    patterns: dict[str, None] = {}
    reader = _Reader(expression.removeprefix("^").removesuffix("$"))
    for tokens in _alternatives(reader):
        for divided in _divided(tokens, parts):
            patterns[".".join(divided)] = None
            if len(patterns) > _PATTERNS_MAX:
                raise NoPattern(_TOO_MANY)
    if reader.at < len(reader.text):
        raise NoPattern(reader.text[reader.at :])
    if not patterns:
        raise NoPattern(_NO_NAME)
    return list(patterns)


def _alternatives(reader: _Reader) -> list[list[str]]:
    """Return the tokens of each alternative up to the end of a group."""
    alternatives: list[list[str]] = []
    current: list[list[str]] = [[]]
    while reader.peek() not in ("", ")"):
        if reader.peek() == "|":
            reader.take()
            alternatives += current
            current = [[]]
            continue
        piece = _repeated(reader, _piece(reader))
        current = [before + after for before, after in product(current, piece)]
        if len(current) > _PATTERNS_MAX:
            raise NoPattern(_TOO_MANY)
    return alternatives + current


def _piece(reader: _Reader) -> list[list[str]]:
    """Return the alternatives of one character, class or group."""
    rest = reader.text[reader.at :]
    character = reader.take()
    if character == "(":
        if reader.peek() == "?":
            if reader.text[reader.at : reader.at + 2] != "?:":
                raise NoPattern(rest[:3])
            reader.take(2)
        inside = _alternatives(reader)
        if reader.take() != ")":
            raise NoPattern(rest)
        return inside
    if character == "[":
        return [[_class(reader, rest)]]
    if character == ".":
        return [["."]]
    if character == "\\":
        return [[_escaped(reader.take(), rest)]]
    if character in "*+?{}^$":
        raise NoPattern(rest)
    return [[character]]


def _class(reader: _Reader, rest: str) -> str:
    # A pattern takes a ! in the first place for a negation.
    match = re.match(r"\[(\^|(?!!))([^\[\]\\&^]+)\]", rest)
    if match is None:
        raise NoPattern(rest)
    reader.at += match.end() - 1
    return f"[{'!' if match[1] else ''}{match[2]}]"


def _escaped(character: str, rest: str) -> str:
    if character == ".":
        return _DOT
    if character in _SHORT:
        return _SHORT[character]
    if not character or character.isalnum():
        raise NoPattern(rest[:2])
    # A pattern has no other way to write these.
    return f"[{character}]" if character in "*?[" else character


def _repeated(reader: _Reader, piece: list[list[str]]) -> list[list[str]]:
    """Return the alternatives of a piece with what follows it: `*`, `+`, `?` or `{n}`."""
    rest = reader.text[reader.at :]
    if match := re.match(r"\{(\d+)\}", rest):
        reader.take(match.end())
        count = int(match[1])
        if count > _REPEATED_MAX or len(piece) > 1:
            raise NoPattern(match[0])
        return [piece[0] * count]
    mark = reader.peek()
    if mark not in ("*", "+", "?"):
        return piece
    reader.take()
    if reader.peek() == "+":
        raise NoPattern(rest[:2])
    if reader.peek() == "?":
        # Which part matches how much does not change which names match as a whole.
        reader.take()
    if mark == "?":
        return [*piece, []]
    if piece != [["."]]:
        raise NoPattern(mark + _AFTER_OTHERS)
    return [[_ALL]] if mark == "*" else [[".", _ALL]]


def _divided(tokens: list[str], parts: int) -> Iterator[list[str]]:
    """Yield the patterns of the parts, for each token that can be a dot between them."""
    if parts == 1:
        if tokens and _DOT not in tokens:
            yield [_joined(tokens)]
        return
    for at, token in enumerate(tokens):
        if token not in (_DOT, ".", _ALL):
            continue
        kept = [_ALL] if token == _ALL else []
        left = tokens[:at] + kept
        if left:
            for rest in _divided(kept + tokens[at + 1 :], parts - 1):
                yield [_joined(left), *rest]
        if token == _DOT:
            return


def _joined(tokens: list[str]) -> str:
    return re.sub(r"\*+", "*", "".join("?" if part == "." else part for part in tokens))


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
    _take_columns(draft, "envelope.source_types", "column.propagate.source.type")
    _take_columns(draft, "envelope.source_types_by_type", "datatype.propagate.source.type")


def _convert_tables(draft: Draft) -> None:
    databases = _list(draft, 1, "database.include.list", "database.whitelist")
    tables = _list(draft, _TABLE, "table.include.list", "table.whitelist")
    if tables is None:
        followed = [f"{database}.*" for database in databases or ["*"]]
    elif databases is None:
        followed = tables
    else:
        followed = _of_databases(draft, tables, databases)
    origins = _property_lines(draft, "database.include.list", "table.include.list")
    draft.set("source.tables", followed, *(origins or ["Debezium follows all tables, too"]))
    if origins:
        draft.note("source.tables", _CASE)
    if any(map(_is_open, followed)):
        draft.note("source.tables", _HELPERS)
    hidden = _list(draft, 1, "database.exclude.list", "database.blacklist") or []
    excluded = [f"{database}.*" for database in hidden]
    excluded += _list(draft, _TABLE, "table.exclude.list", "table.blacklist") or []
    if excluded:
        origins = _property_lines(draft, "database.exclude.list", "table.exclude.list")
        draft.set("source.exclude_tables", excluded, *origins, _CASE)


def _of_databases(draft: Draft, tables: list[str], databases: list[str]) -> list[str]:
    """Return the patterns of tables within databases: Debezium wants both to match."""
    patterns: dict[str, None] = {}
    for pattern in tables:
        database, _, table = pattern.partition(".")
        for other in databases:
            if database == other or (fnmatchcase(database, other) and not _is_open(database)):
                patterns[pattern] = None
            elif not _is_open(other):
                if fnmatchcase(other, database):
                    patterns[f"{other}.{table}"] = None
            elif other == "*":
                patterns[pattern] = None
            elif database == "*":
                patterns[f"{other}.{table}"] = None
            elif _is_open(database):
                why = f"together with {other!r} of database.include.list"
                raise _refused(draft, "table.include.list", pattern, why)
    if not patterns:
        why = "no database of database.include.list has such a table"
        raise _refused(draft, "table.include.list", ",".join(tables), why)
    return list(patterns)


def _is_open(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _take_columns(draft: Draft, key: str, *names: str) -> None:
    """Set a key to a list of columns, which has a newest name and perhaps an older one."""
    columns = _list(draft, _COLUMN, *names)
    if columns is not None:
        draft.set(key, columns, *_property_lines(draft, names[0]))


def _convert_columns(draft: Draft) -> None:
    _take_columns(draft, "source.columns", "column.include.list", "column.whitelist")
    _take_columns(draft, "source.exclude_columns", "column.exclude.list", "column.blacklist")
    if draft.value("source.columns") is not None:
        draft.note("source.columns", "here, tables that no pattern names have all columns")


def _convert_masks(draft: Draft) -> None:
    masks: list[dict[str, object]] = []
    for name in list(draft.left):
        match = _MASK.fullmatch(name)
        if match is None or match["chars"] == "length":
            continue
        columns = _list(draft, _COLUMN, name)
        if columns is None:
            continue
        mask: dict[str, object] = {"columns": columns}
        if match["hash"]:
            mask |= {"hash": match["hash"].upper(), "salt": match["salt"]}
            if not match["v2"]:
                mask["version"] = 1
        else:
            kind = "chars" if match["chars"] else "truncate"
            mask[kind] = int(match[kind])
        masks.append(mask)
        draft.note("source.masks", f"{name} = {draft.connector.properties[name]}")
        if match["hash"]:
            draft.note("source.masks", "let nobody read the salt who may not know the values")
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


def _list(draft: Draft, parts: int, *names: str) -> list[str] | None:
    """Return the patterns of a list, under its newest name or an older one; None without it."""
    text = draft.pop(*names)
    if text is None:
        return None
    patterns: dict[str, None] = {}
    for expression in split_list(text):
        patterns |= dict.fromkeys(_patterns(draft, names[0], expression, parts))
    return list(patterns)


def _patterns(draft: Draft, name: str, expression: str, parts: int) -> list[str]:
    try:
        return patterns(expression, parts)
    except NoPattern as error:
        raise _refused(draft, name, expression, str(error)) from error


def _refused(draft: Draft, name: str, pattern: str, why: str) -> ConfigError:
    return ConfigError(
        migration_errors.PATTERN, path=draft.connector.path, name=name, pattern=pattern, why=why
    )


def _property_lines(draft: Draft, *names: str) -> list[str]:
    """Return the lines that show properties and their older names."""
    older = [name.replace("include.list", "whitelist") for name in names]
    older += [name.replace("exclude.list", "blacklist") for name in names]
    properties = draft.connector.properties
    return [
        f"{name} = {properties[name]}"
        for name in dict.fromkeys((*names, *older))
        if name in properties
    ]
