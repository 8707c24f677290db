"""One cut, and its form in a file.

A file names the tables that differ from those of a base, which many cuts share. So a cut costs
little, however many tables the mirror has.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class CutTable(NamedTuple):
    """A table at a cut."""

    path: str  # of the Delta table, below the root of the mirror
    version: int
    # The id of the Delta table: one that is made again has another id, and versions of its own.
    generation: str


@dataclass(frozen=True, slots=True)
class Cut:
    """All tables at one moment of the source."""

    # 38 digits. The tables have every change with a lower `cdc.seq`, and no other one.
    seq: str
    flavour: str  # "mysql" or "mariadb"
    gtid: str | None  # every transaction up to here; None if the stream goes by position
    position: str  # FILE:POSITION after the last transaction; "" if the server has not named it
    # When the source committed the latest change that the tables have: milliseconds since 1970.
    source_time_ms: int | None
    written_ms: int  # when the job wrote the cut
    tables: Mapping[str, CutTable]  # by `database.table`
    # Tables that the cut does not have, although they are not skipped by choice: why not.
    left_out: Mapping[str, str]
    number: int = 0  # of its file; rises from cut to cut


class Base(NamedTuple):
    """The tables that several cuts share."""

    # Begins with the number of the first cut that uses it; no other base ever has this name.
    name: str
    tables: Mapping[str, CutTable]

    @classmethod
    def of(cls, cut: Cut) -> Base:
        """Return a new base with the tables of `cut`."""
        return cls(f"{cut.number:020d}-{uuid.uuid4().hex}", dict(cut.tables))

    @property
    def number(self) -> int:
        """The number of the first cut that uses it."""
        return int(self.name.partition("-")[0])

    def write(self) -> bytes:
        """Return the content of the file."""
        return json.dumps(self.tables, separators=(",", ":")).encode()

    @classmethod
    def read(cls, name: str, content: bytes) -> Base:
        """Read what `write` returned; raises ValueError, KeyError or TypeError for others."""
        return cls(name, _tables(json.loads(content)))

    def difference(self, cut: Cut) -> dict[str, CutTable] | None:
        """Return the tables of `cut` that differ; None if one is gone: then it needs a new base."""
        if self.tables.keys() - cut.tables.keys():
            return None
        return {name: own for name, own in cut.tables.items() if self.tables.get(name) != own}


def write_cut(cut: Cut, base: Base) -> bytes:
    """Return the content of the file of `cut`, whose base is `base`."""
    content = {
        "seq": cut.seq,
        "flavour": cut.flavour,
        "gtid": cut.gtid,
        "position": cut.position,
        "source_time_ms": cut.source_time_ms,
        "written_ms": cut.written_ms,
        "base": base.name,
        "tables": base.difference(cut),
        "left_out": dict(cut.left_out),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def read_cut(number: int, content: bytes) -> tuple[Cut, str]:
    """Return a cut with the tables that differ from its base, and the name of the base.

    Raises ValueError, KeyError or TypeError for what `write_cut` did not return.
    """
    found: dict[str, Any] = json.loads(content)
    cut = Cut(
        found["seq"],
        found["flavour"],
        found["gtid"],
        found["position"],
        found["source_time_ms"],
        found["written_ms"],
        _tables(found["tables"]),
        found["left_out"],
        number,
    )
    return cut, str(found["base"])


def _tables(found: dict[str, list[Any]]) -> dict[str, CutTable]:
    return {name: CutTable(path, version, own) for name, (path, version, own) in found.items()}
