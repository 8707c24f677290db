"""Writes docs/configuration.md from the settings: `make configuration-page`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, get_origin

from connector.foundation.settings.sections import Settings
from stream_jobs.settings import Settings as JobSettings
from tests.foundation.settings.key_types import default_of, limits_of, section_of, type_of
from tests.foundation.settings.reference_file import meanings, without_defaults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from connector.foundation.settings.file_settings import FileSettings

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "configuration.md"

_HEAD = """# Every key

Two programs have a configuration file, in TOML: [the connector](#the-connector) (`run`, `check`,
`verify` and the other commands) and [the Spark job](#the-spark-job). A variable in the environment
overrides a key of the file; lists and tables are JSON there. An unknown key or variable is an
error. A key without a default is required.

`binlog-connector config` prints a file with every key of the connector and its text, and
`binlog-connector config stream_job.toml` one for the job. `binlog-connector check` reads a file and
names what is wrong in it.

`make configuration-page` writes this page from the types of the settings, and from the comments in
[`configs/`](../configs/).
"""
PROGRAMS: tuple[tuple[str, type[FileSettings], str], ...] = (
    ("The connector", Settings, "connector.toml"),
    ("The Spark job", JobSettings, "stream_job.toml"),
)
_WIDTH = 120
_PARAGRAPH, _ITEM, _CODE = "paragraph", "item", "code"
_SPECIAL = re.compile(r"([<*])")


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for title, settings, name in PROGRAMS:
        parts += [f"## {title}\n", *_Program(settings, meanings(ROOT / "configs" / name)).parts()]
    return "\n".join(parts)


class _Program:
    """The keys of one file, with their meanings by `section.key`."""

    def __init__(self, settings: type[FileSettings], said: dict[str, list[str]]) -> None:
        self._settings = settings
        self._said = said

    def parts(self) -> Iterator[str]:
        """Yield the parts of the page about the file."""
        yield from self._keys(self._settings, "")

    def _keys(self, section: type[BaseModel], at: str) -> Iterator[str]:
        """Yield the values of a section, then the sections in it."""
        inner: list[tuple[str, type[BaseModel], bool]] = []
        for name, field in section.model_fields.items():
            key = f"{at}.{name}".lstrip(".")
            part = section_of(field.annotation)
            many = get_origin(field.annotation) is list
            if part is None or (many and not self._is_section(key, part)):
                yield self._key(key, field)
            else:
                inner.append((key, part, many))
        for key, part, many in inner:
            yield f"### {f'[[{key}]]' if many else f'[{key}]'}\n"
            # A docstring is for those who read the code, but says what the keys are about.
            yield _text(self._said[key] or [(part.__doc__ or "").splitlines()[0]])
            yield from self._keys(part, key)

    def _is_section(self, key: str, part: type[BaseModel]) -> bool:
        """Return whether the file writes a list of sections as such, with a text for each key."""
        return all(f"{key}.{name}" in self._said for name in part.model_fields)

    def _key(self, key: str, field: FieldInfo) -> str:
        part = section_of(field.annotation)
        limits, default = limits_of(field), default_of(field)
        facts = [
            "list of tables" if part else type_of(field),
            *([limits] if limits else []),
            "required" if default is None else f"default {default}",
        ]
        head = _filled("; ".join(facts))
        if not self._is_in_a_list(key):
            # Two spaces break a line.
            head += f"  \n`{self._settings.variable(key)}`"
        members = f"\n{_members(part)}" if part else ""
        return f"#### `{key}`\n\n{head}\n\n{_text(self._said[key])}{members}"

    def _is_in_a_list(self, key: str) -> bool:
        """Return whether there may be several tables with the key, so that no variable has it."""
        section, _, _ = key.partition(".")
        annotation = self._settings.model_fields[section].annotation
        return get_origin(annotation) is list


def _members(part: type[BaseModel]) -> str:
    """Return a table of the keys that each table of a list may have."""
    lines = ["| key | value | limits | default |", "|---|---|---|---|"]
    for name, field in part.model_fields.items():
        default = default_of(field) or "required"
        lines.append(f"| `{name}` | {type_of(field)} | {limits_of(field)} | {default} |")
    return "\n".join(lines) + "\n"


def _text(comment: list[str]) -> str:
    """Return a comment as Markdown: paragraphs, lists, and as code what is indented."""
    blocks: list[tuple[str, list[str]]] = []
    for line in comment:
        last = blocks[-1][0] if blocks else ""
        is_indented = line.startswith("  ")
        kind = _ITEM if line.startswith("- ") else _CODE if is_indented else _PARAGRAPH
        if kind == last != _ITEM or (is_indented and last == _ITEM):
            blocks[-1][1].append(line)
        else:
            blocks.append((kind, [line]))
    shown = (_block(kind, lines) for kind, lines in blocks)
    return "\n\n".join(each for each in shown if each) + "\n"


def _block(kind: str, lines: list[str]) -> str:
    if kind == _CODE:
        return "\n".join(["```", *(line[2:] for line in lines), "```"])
    text = without_defaults(" ".join(line.strip() for line in lines))
    # Between backticks, nothing has a meaning for Markdown.
    parts = text.split("`")
    parts[::2] = (_SPECIAL.sub(r"\\\1", part) for part in parts[::2])
    return _filled("`".join(parts), "  " if kind == _ITEM else "")


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
