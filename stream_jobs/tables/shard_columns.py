"""The columns of a mirror that shards share: the union of their lists.

Each shard has a list of its own: the ids of its columns in the mirror. A column that a shard lacks
is NULL in its rows. The mirror has a column as long as one shard has it.

    shop_1.orders   id  total  note         orders   shard  id  total  note
    shop_2.orders   id  total

A type that a shard needs wider becomes wider for all. What cannot be united is an error of the
shard that brings it; the others go on.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.errors import MirrorError, shard_errors
from stream_jobs.source.column_types import holds_all_values
from stream_jobs.source.table_schema import OWN_PREFIX
from stream_jobs.tables.column_changes import RETIRED, TYPE_KEY, ColumnChange
from stream_jobs.tables.mirror_metadata import PREFIX_PROPERTY

# Lists of some mirrors with hundreds of shards, of a few kilobytes each.
_LISTS_KEPT: Final = 4096


class ShardList(NamedTuple):
    """What a mirror knows about one of its shards, besides its progress."""

    # The properties that a mirror of one table has, see `properties_of`.
    properties: Mapping[str, str]
    # The ids of its columns, in order, and by id the name that a retired one had at the source.
    columns: tuple[int, ...]
    retired: Mapping[int, str]

    @classmethod
    def of(cls, columns: Iterable[Column], properties: Mapping[str, str]) -> "ShardList":
        """Return what is kept of a shard with these columns."""
        columns = tuple(columns)
        retired = {c.field_id: str(c.metadata[RETIRED]) for c in columns if RETIRED in c.metadata}
        return cls(properties, tuple(column.field_id for column in columns), retired)

    @property
    def prefix(self) -> str | None:
        """The prefix of its topics; None if the list is not of a mirror that pipelines share."""
        return self.properties.get(PREFIX_PROPERTY)

    def write(self) -> str:
        """Return the JSON that the log holds."""
        return json.dumps(self, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    @lru_cache(maxsize=_LISTS_KEPT)
    def read(text: str) -> "ShardList":
        """Read what `write` returned; raises ValueError, KeyError or TypeError for other text.

        To open a shard of a mirror is to read the lists of all of them.
        """
        properties, columns, retired = json.loads(text)
        names = {int(number): name for number, name in retired.items()}
        return ShardList(properties, tuple(columns), names)

    def columns_in(self, metadata: Metadata) -> tuple[Column, ...]:
        """Return the columns of the shard, as they are in its mirror now."""
        by_id = {column.field_id: column for column in metadata.columns}
        columns = []
        for number in self.columns:
            column = by_id[number]
            if number in self.retired:
                more = {**column.metadata, RETIRED: self.retired[number]}
                column = column._replace(metadata=more)
            columns.append(column)
        return tuple(columns)


@dataclass(frozen=True, slots=True)
class ColumnUnion:
    """The columns of a mirror when one of its shards changes its list."""

    metadata: Metadata
    own: frozenset[int]  # the ids that the shard has now
    others: frozenset[int]  # those that any other shard has
    table: str  # of the shard, for errors
    path: str

    @classmethod
    def of(
        cls,
        metadata: Metadata,
        lists: Mapping[str, ShardList],
        shard: str,
        table: str,
        path: str,
    ) -> "ColumnUnion":
        """Return the columns as the list of a `shard` changes, which may have none yet."""
        own = frozenset(lists[shard].columns) if shard in lists else frozenset[int]()
        others = frozenset(
            number for value, each in lists.items() if value != shard for number in each.columns
        )
        return cls(metadata, own, others, table, path)

    def united(self, change: ColumnChange) -> ColumnChange:
        """Return `change` of the list of the shard, with the columns that the mirror has.

        `widened` are then the columns that need a wider type in the mirror. Raises MirrorError for
        a column that does not fit.
        """
        by_id = {column.field_id: column for column in self.metadata.columns}
        by_name = {
            column.name.lower(): column
            for column in self.metadata.columns
            if column.field_id in self.others
        }
        columns, widened, taken = [], set(), set()
        for column in change.columns:
            known = by_id.get(column.field_id) or by_name.get(column.name.lower())
            if known is None:
                columns.append(column)
                continue
            if known.name != column.name:
                if known.field_id in self.others:
                    raise self._unfit(column, known)
                known = known._replace(name=column.name)
            if column.field_id != known.field_id and known.field_id in self.own:
                taken.add(column.name)
            if not holds_all_values(known.type, column.type):
                if not holds_all_values(column.type, known.type):
                    raise self._unfit(column, known)
                widened.add(column.name)
                known = known._replace(type=column.type, metadata=column.metadata)
            columns.append(known._replace(metadata=_joined(column, known)))
        lost = (self.own & self.others) - {column.field_id for column in columns}
        left = frozenset(by_id[number].name for number in lost)
        return ColumnChange(
            tuple(columns), change.added, frozenset(widened), left, frozenset(taken)
        )

    def with_columns(self, columns: Sequence[Column]) -> Metadata | None:
        """Return the mirror with the list `columns` of the shard, which `united` has returned.

        None if the mirror has changed since.
        """
        new = {column.field_id: column for column in columns}
        shard = self.metadata.partition_columns[0]
        kept = []
        for column in self.metadata.columns:
            mine = new.pop(column.field_id, None)
            if mine is not None:
                kept.append(_active(mine))
            elif column.name == shard or column.field_id in self.others:
                kept.append(column)
        names = {column.name.lower() for column in kept}
        if any(
            c.field_id <= self.metadata.last_id or c.name.lower() in names for c in new.values()
        ):
            return None
        at = next((n for n, c in enumerate(kept) if c.name.startswith(OWN_PREFIX)), len(kept))
        added = [_active(column) for column in new.values()]
        sources = [column for column in added if not column.name.startswith(OWN_PREFIX)]
        rest = [column for column in added if column.name.startswith(OWN_PREFIX)]
        return self.metadata.with_columns([*kept[:at], *sources, *kept[at:], *rest])

    def _unfit(self, column: Column, known: Column) -> MirrorError:
        return MirrorError(
            shard_errors.SHARD_TYPE,
            table=self.table,
            column=_described(column),
            path=self.path,
            known=_described(known),
        )


def _joined(column: Column, known: Column) -> dict[str, object]:
    """Return what a shard says about its column; the type at the source is that of the mirror."""
    of_type = {TYPE_KEY: known.metadata[TYPE_KEY]} if TYPE_KEY in known.metadata else {}
    return {**column.metadata, **of_type}


def _active(column: Column) -> Column:
    """Return a column as the mirror has it: each shard knows by itself which ones are retired."""
    metadata = {key: value for key, value in column.metadata.items() if key != RETIRED}
    return column._replace(metadata=metadata)


def _described(column: Column) -> str:
    return f"{column.name} ({column.metadata.get(TYPE_KEY) or column.type})"
