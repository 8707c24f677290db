"""The properties of a mirror: which table it is, and what was chosen when it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError, mirror, mirror_choices
from stream_jobs.schema.disguise import disguise_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.contract import SchemaColumn
    from stream_jobs.apply.modes.mode import Mode
    from stream_jobs.delta.table import DeltaTable
    from stream_jobs.schema.table_schema import TableSchema

TABLE_PROPERTY: Final = "cdc.table"
SCHEMA_PROPERTY: Final = "cdc.schema_id"
KEY_PROPERTY: Final = "cdc.key"
HIDDEN_PROPERTY: Final = "cdc.hidden"
MODE_PROPERTY: Final = "cdc.mode"
PLACE_PROPERTY: Final = "cdc.place"
COLUMNS_PROPERTY: Final = "cdc.columns"


def properties_of(schema: TableSchema) -> dict[str, str]:
    """Return the properties of a mirror that has the columns of `schema`."""
    return {
        TABLE_PROPERTY: schema.name,
        SCHEMA_PROPERTY: schema.schema_id,
        KEY_PROPERTY: json.dumps(schema.key, ensure_ascii=False),
        HIDDEN_PROPERTY: json.dumps(schema.chosen.hidden, ensure_ascii=False),
        # The path of a mirror may have only a hash of a long name.
        PLACE_PROPERTY: json.dumps(schema.place, ensure_ascii=False),
        COLUMNS_PROPERTY: json.dumps([_kept(c) for c in schema.columns], ensure_ascii=False),
    }


def place_of(configuration: Mapping[str, str]) -> tuple[str, str]:
    """Return the database and the name of a mirror that has these properties."""
    database, table = json.loads(configuration[PLACE_PROPERTY])
    return database, table


def _kept(column: SchemaColumn) -> SchemaColumn:
    """Return what the rows of a mirror need to become those of a database again."""
    if disguise_of(column) is not None:
        return {
            "name": column["name"],
            "type": "text",
            "nullable": column["nullable"],
            "key": column["key"],
        }
    kept = column.copy()
    kept.pop("added_default", None)
    kept.pop("added_default_unknown", None)
    return kept


def refuse_other_mode(own: DeltaTable, mode: Mode, table: str, base: str) -> None:
    """Raise MirrorError unless the mirror was made with `mode`."""
    before = own.snapshot.configuration.get(MODE_PROPERTY, "current")
    if before != mode.name:
        path = f"{base.rstrip('/')}/{own.path}"
        raise MirrorError(mirror.MODE_CHANGED, table=table, path=path, before=before, now=mode.name)


def refuse_other_choices(own: DeltaTable, schema: TableSchema, base: str) -> None:
    """Raise MirrorError if the mirror was made with other settings than those of `schema`."""
    metadata = own.snapshot.metadata
    path = f"{base.rstrip('/')}/{own.path}"
    before = json.loads(metadata.configuration.get(HIDDEN_PROPERTY, "{}"))
    now = schema.chosen.hidden
    others = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    if others:
        raise MirrorError(
            mirror_choices.OTHER_COLUMNS, table=schema.name, path=path, columns=sorted(others)
        )
    if metadata.partition_columns != schema.chosen.partition_by:
        raise MirrorError(
            mirror_choices.OTHER_PARTITIONS,
            table=schema.name,
            path=path,
            before=metadata.partition_columns,
            now=schema.chosen.partition_by,
        )
