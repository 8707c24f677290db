"""What a user names: a table of the source, its target, and choices for columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from connector.foundation.errors import ConfigError
from verification.foreign import foreign_errors
from verification.foreign.delta_target import DeltaTarget
from verification.foreign.file_target import ParquetTarget
from verification.foreign.target import Target


@dataclass(frozen=True, slots=True)
class TableChoice:
    """One table that is compared."""

    database: str
    table: str
    target: str  # KIND:PLACE
    # By the column at the source: its name in the target, and the name of its form.
    columns: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    def opened(self) -> Target:
        """Return the target. Raises ConfigError for a place that cannot be one."""
        kind, _, place = self.target.partition(":")
        return _KINDS[kind](self.target, place)


_KINDS: Final[Mapping[str, Callable[[str, str], Target]]] = {
    "delta": DeltaTarget,
    "parquet": ParquetTarget,
}


def read_choice(text: str) -> TableChoice:
    """Read `shop.orders=delta:/lake/orders`; raises ConfigError for another form."""
    name, equals, target = text.partition("=")
    database, point, table = name.partition(".")
    kind, colon, place = target.partition(":")
    why = ""
    if not equals:
        why = "there is no `=`"
    elif not point or not database or not table:
        why = f"{name} is no DATABASE.TABLE"
    elif not colon or not place:
        why = f"{target} is no KIND:PLACE"
    elif kind not in _KINDS:
        why = f"{kind} is no kind of a target"
    if why:
        raise ConfigError(foreign_errors.TARGET_FORM, text=text, why=why, kinds=list(_KINDS))
    return TableChoice(database, table, target)
