"""The settings of a source become the choice of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.envelope.columns.choice import (
    HASH,
    MASK,
    TRUNCATE,
    ColumnChoice,
    ColumnPattern,
    ColumnRule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.settings.sections import MaskSettings, SourceSettings


def column_choice(settings: SourceSettings) -> ColumnChoice | None:
    """Return what is chosen; None if records have all columns as they are."""
    if not (settings.columns or settings.exclude_columns or settings.masks):
        return None
    return ColumnChoice(
        _patterns(settings.columns),
        _patterns(settings.exclude_columns),
        [_rule(each) for each in settings.masks],
    )


def _patterns(texts: Iterable[str]) -> tuple[ColumnPattern, ...]:
    return tuple(map(ColumnPattern.parse, texts))


def _rule(mask: MaskSettings) -> ColumnRule:
    patterns = _patterns(mask.columns)
    if mask.chars is not None:
        return ColumnRule(patterns, MASK, mask.chars)
    if mask.truncate is not None:
        return ColumnRule(patterns, TRUNCATE, mask.truncate)
    algorithm = (mask.hash or "").replace("SHA3-", "SHA3_").replace("SHA-", "SHA").lower()
    salt = mask.salt.get_secret_value()
    return ColumnRule(patterns, HASH, 0, algorithm, salt, mask.version)
