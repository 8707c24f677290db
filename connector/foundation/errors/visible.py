"""Text of a server, a log or a topic as a person may see it.

Names and texts can hold anything: escape sequences that steer a terminal, line breaks that begin a
line of their own, and marks that turn the direction of writing.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

# By byte, in UTF-8: C0 but tab and line feed, delete, and C1; marks that turn the direction of
# writing, and separators of lines.
_CONTROLS: Final = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]"
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
_LATIN: Final = 0xFF
_OF_THE_CATALOGUE: Final = ("event", "error")


def visible(text: str) -> str:
    """Return a text in one line, without what steers a terminal or turns the writing direction."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text.replace("\n", " ")
    )


def visible_lines(text: str) -> str:
    """Return the same of a text that has lines."""
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def visible_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line for people; the texts of the catalogue may have lines."""
    return {
        name: visible_lines(value)
        if name in _OF_THE_CATALOGUE and isinstance(value, str)
        else _visible_value(value)
        for name, value in fields.items()
    }


def _visible_value(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible_value(name): _visible_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible_value(each) for each in value]
    return value


def visible_json(
    value: Any, default: Callable[[Any], Any] | None = None, indent: int | None = None
) -> str:
    """Return a value as JSON, in ASCII if one of its characters is not visible.

    `default` and `indent` are those of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, default=default, indent=indent)
    if text.replace("\n", "").isprintable():
        return text
    return json.dumps(value, default=default, indent=indent)


def visible_bytes(data: bytes) -> bytes:
    r"""Return text in UTF-8 in which control characters are `\x1b`, and marks `\u202e`."""
    return _CONTROLS.sub(_escaped, data)


def _escaped(found: re.Match[bytes]) -> bytes:
    character = ord(found[0].decode())
    return (f"\\x{character:02x}" if character <= _LATIN else f"\\u{character:04x}").encode()
