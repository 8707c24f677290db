"""Formats of records whose schemas a registry has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.record_formats import REGISTERED

if TYPE_CHECKING:
    from connector.foundation.settings.sections import Settings
    from connector.stream.sink.schema_registry import SchemaRegistry


def open_registry(settings: Settings) -> SchemaRegistry | None:
    """Return the registry, if records have a format that needs one; raises ConfigError."""
    formats = settings.envelope.key_format, settings.envelope.value_format
    if not any(name in REGISTERED for name in formats):
        return None
    from connector.stream.sink.schema_registry import SchemaRegistry  # noqa: PLC0415  # an HTTP client

    return SchemaRegistry(settings.registry)
