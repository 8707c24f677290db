"""Patterns of tables for a server that does not tell names by their case.

With lower_case_table_names = 1, it has all names in lower case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from connector.settings.sections import Settings, SourceSettings

_Section = TypeVar("_Section", bound=BaseModel)


def in_lower_case(settings: Settings) -> Settings:
    """Return settings whose patterns of tables are in lower case."""
    envelope, signals = settings.envelope, settings.signals
    routes = [_with(each, tables=each.tables.lower()) for each in envelope.routes]
    filters = [_with(each, tables=each.tables.lower()) for each in envelope.filters]
    changed = {"routes": routes, "filters": filters}
    if envelope.outbox is not None:
        tables = [each.lower() for each in envelope.outbox.tables]
        changed["outbox"] = _with(envelope.outbox, tables=tables)
    if signals.table is not None:
        signals = _with(signals, table=signals.table.lower())
    return _with(
        settings,
        source=source_in_lower_case(settings.source),
        envelope=_with(envelope, **changed),
        signals=signals,
    )


def source_in_lower_case(source: SourceSettings) -> SourceSettings:
    """Return a source whose patterns of tables and of their columns are in lower case."""
    names = ("tables", "exclude_tables", "columns", "exclude_columns")
    masks = [
        _with(mask, columns=[pattern.lower() for pattern in mask.columns]) for mask in source.masks
    ]
    lower = {name: [pattern.lower() for pattern in getattr(source, name)] for name in names}
    return _with(source, masks=masks, **lower)


def _with(section: _Section, **changed: object) -> _Section:
    return section.model_copy(update=changed)
