"""Loads the configuration of `run`, and adapts it to a server with names in any case.

Some parts can be read from a configuration that has mistakes, to report these. With
lower_case_table_names = 1, a server has all names in lower case, and with 2, as they were written;
with both, it takes names for the same that differ in case, and so do the patterns.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, SecretStr

from connector.foundation.errors.message import Message
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import Settings, SourceSettings

# A bit of a file's mode: all users may read it.
_READS_ALL = 0o004


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError, which names every wrong key.
    """
    return Settings.load(path)


def log_format(path: Path) -> str:
    """Return `log.format` of a configuration that may have other mistakes; "console" without one.

    The errors about these mistakes use this format, too.
    """
    return "json" if Settings.peek(path, "log.format") == "json" else "console"


def pipeline_name(path: Path) -> str | None:
    """Return `name` of a configuration that may have other mistakes; None without one."""
    found = Settings.peek(path, "name")
    return found if isinstance(found, str) else None


def world_readable_warning(path: Path) -> Message | None:
    """Return a warning if the file holds a secret and every user may read it, else None."""
    document = Settings.document(path)
    held = list(dict.fromkeys(_secrets(Settings, document)))
    if not held or not path.stat().st_mode & _READS_ALL:
        return None
    return Message(settings_errors.READABLE_BY_ALL, {"path": path, "keys": held})


def _secrets(section: type[BaseModel], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the secrets that a section of a file has."""
    for name, field in section.model_fields.items():
        value = values.get(name)
        for kind in _types(field.annotation):
            if kind is SecretStr and value:
                yield name
            elif isinstance(kind, type) and issubclass(kind, BaseModel):
                for each in value if isinstance(value, list) else [value or {}]:
                    yield from (f"{name}.{key}" for key in _secrets(kind, each))


def _types(annotation: object) -> Iterator[object]:
    """Yield the types of a key, those in lists and unions, too."""
    inner = get_args(annotation)
    if not inner:
        yield annotation
    for each in inner:
        yield from _types(each)


_Section = TypeVar("_Section", bound=BaseModel)


def in_lower_case(settings: Settings) -> Settings:
    """Return settings whose patterns of tables are in lower case, and match names in any case."""
    envelope, signals = settings.envelope, settings.signals
    routes = [each.in_any_case(tables=each.tables.lower()) for each in envelope.routes]
    filters = [each.in_any_case(tables=each.tables.lower()) for each in envelope.filters]
    changed = {
        "routes": routes,
        "filters": filters,
        "message_keys": list(map(_message_key_in_lower_case, envelope.message_keys)),
        "source_types": [pattern.lower() for pattern in envelope.source_types],
        "source_types_by_type": [pattern.lower() for pattern in envelope.source_types_by_type],
    }
    if envelope.outbox is not None:
        tables = [each.lower() for each in envelope.outbox.tables]
        changed["outbox"] = envelope.outbox.in_any_case(tables=tables)
    if signals.table is not None:
        signals = _with(signals, table=signals.table.lower())
    return _with(
        settings,
        source=source_in_lower_case(settings.source),
        envelope=envelope.in_any_case(**changed),
        signals=signals,
    )


def _message_key_in_lower_case(text: str) -> str:
    tables, colon, columns = text.partition(":")
    return f"{tables.lower()}{colon}{columns}"


def source_in_lower_case(source: SourceSettings) -> SourceSettings:
    """Return a source whose patterns are in lower case, and match tables in any case."""
    names = ("tables", "exclude_tables", "columns", "exclude_columns")
    masks = [
        _with(mask, columns=[pattern.lower() for pattern in mask.columns]) for mask in source.masks
    ]
    lower = {name: [pattern.lower() for pattern in getattr(source, name)] for name in names}
    return source.in_any_case(masks=masks, **lower)


def _with(section: _Section, **changed: object) -> _Section:
    return section.model_copy(update=changed)
