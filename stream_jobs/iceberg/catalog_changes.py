"""What leads the table of a catalog to the state of the Iceberg table that is found by its path.

That one is always ahead, and is all that is compared: so a catalog that was away for hours, or that
has lost the outcome of a commit, needs no other way than one that answers. Catalogs number schemas
as they like; the ids of columns, of snapshots and of rows are ours in both.

https://iceberg.apache.org/spec/#table-metadata
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final

from stream_jobs.iceberg.cut_tags import is_cut_tag
from stream_jobs.iceberg.metadata import (
    TableMetadata,
    current_schema,
    partition_spec,
)
from stream_jobs.iceberg.rest_catalog import CatalogName, Change

# Properties by which a table in the catalog is known as ours: the id of the Delta table, and the
# URI of the table by its path.
_TABLE_ID: Final = "binlog-connector.table-id"
_LOCATION: Final = "binlog-connector.location"
_MAIN: Final = "main"
# The one that was added last, whatever number the catalog has given to it.
_LAST_ADDED: Final = -1
# What snapshots of engines say of who made them.
_WHO: Final = ("engine-name", "spark.app.name", "app-name", "app-id", "created-by")


class Relation(Enum):
    """What a table of the catalog is to the table by its path."""

    EARLIER = auto()  # the same, as it is now or was before
    # Of a mirror that was made again since, of a lost Iceberg table, or with other partitions.
    OTHER_GENERATION = auto()
    CHANGED = auto()  # the same, but another program has committed to it
    LATER = auto()  # the same; another process has published more than this one has read
    GONE_BACK = auto()  # the same, but another program has set it back to an earlier snapshot
    FOREIGN = auto()  # none of this mirror


def relation(theirs: TableMetadata, ours: TableMetadata) -> Relation:
    """Return what the catalog's table is to ours."""
    given = theirs.get("properties") or {}
    if given.get(_LOCATION) != ours["location"]:
        return Relation.FOREIGN
    if foreign_snapshot(theirs) is not None:
        return Relation.CHANGED
    own = {entry["snapshot-id"]: entry for entry in ours["snapshots"]}
    common = [entry for entry in _snapshots(theirs) if entry["snapshot-id"] in own]
    is_same = given.get(_TABLE_ID) == ours["table-uuid"] and all(
        entry["manifest-list"] == own[entry["snapshot-id"]]["manifest-list"] for entry in common
    )
    # A catalog keeps the partitions with which it has made a table.
    if not (is_same and _has_our_spec(theirs, ours)):
        return Relation.OTHER_GENERATION
    last = theirs.get("last-sequence-number") or 0
    if last > ours["last-sequence-number"]:
        return Relation.LATER if _has(theirs, head_of(ours)) else Relation.OTHER_GENERATION
    head = head_of(theirs)
    if head != newest_of(theirs) or last > _sequence_of(theirs, head):
        return Relation.GONE_BACK
    # The current one may be gone from ours, if the catalog had not said that it had it.
    return Relation.EARLIER if head is None or common else Relation.OTHER_GENERATION


def can_follow(theirs: TableMetadata, ours: TableMetadata) -> bool:
    """Return whether a table can be led to our current snapshot: it has it, or can get it."""
    head, last = head_of(ours), theirs.get("last-sequence-number") or 0
    return head is None or _has(theirs, head) or _sequence_of(ours, head) > last


def newest_of(theirs: TableMetadata) -> int | None:
    """Return the newest snapshot of a table, which is the current one of each state of ours."""
    return max((entry["snapshot-id"] for entry in _snapshots(theirs)), default=None)


def last_of(theirs: TableMetadata, ours: TableMetadata) -> int | None:
    """Return the last snapshot that a table has had, also if another program has removed it."""
    last = theirs.get("last-sequence-number")
    own = [e["snapshot-id"] for e in _snapshots(ours) if e["sequence-number"] == last]
    return own[0] if own else newest_of(theirs)


def foreign_snapshot(theirs: TableMetadata) -> Mapping[str, Any] | None:
    """Return the newest snapshot that another program has committed; None without one."""
    folder = f"{theirs['properties'][_LOCATION]}/metadata/"
    others = [e for e in _snapshots(theirs) if not str(e.get("manifest-list")).startswith(folder)]
    return max(others, key=lambda entry: entry.get("sequence-number", 0), default=None)


def author_of(entry: Mapping[str, Any]) -> str:
    """Return who a snapshot of another program says has made it."""
    summary = entry.get("summary") or {}
    return next((summary[name] for name in _WHO if summary.get(name)), "another program")


def staged(ours: TableMetadata) -> dict[str, Any]:
    """Return the columns and the partitions with which a catalog stages a new table.

    It gives the columns other ids, in their order, and some catalogs keep the partitions that they
    have made of that. So partition columns have the places that their ids are, among others.
    """
    schema, spec = current_schema(ours), partition_spec(ours)
    wanted = {"schema": schema, "properties": {"format-version": "3"}}
    if not spec["fields"]:
        return wanted
    columns = {field["id"]: field for field in schema["fields"] if isinstance(field["type"], str)}
    fields = [
        columns.get(own) or {"id": own, "name": f"_unused_{own}", "required": False, "type": "int"}
        for own in range(1, max(columns) + 1)
    ]
    return wanted | {"schema": schema | {"fields": fields}, "partition-spec": spec}


def unstaged(ours: TableMetadata) -> dict[str, Any]:
    """Return with what a catalog makes a table that cannot stage one.

    Until `creation` is committed, it is known as one of another generation: if that fails, it is
    replaced. Its folder is for the `metadata.json` of the catalog alone.
    """
    wanted = staged(ours)
    properties = wanted["properties"] | {_LOCATION: ours["location"]}
    return wanted | {"location": f"{ours['location']}/catalog", "properties": properties}


def creation(
    name: CatalogName, made: TableMetadata, ours: TableMetadata, *, is_staged: bool
) -> Change:
    """Return the change that makes a table of `made`, which the catalog has staged or made."""
    uuid = made["table-uuid"]
    identity: list[Change] = [
        {"action": "assign-uuid", "uuid": uuid},
        {"action": "set-location", "location": made["location"]},
    ]
    updates: list[Change] = [
        *(identity if is_staged else ()),
        {"action": "upgrade-format-version", "format-version": 3},
        _schema_added(current_schema(ours), ours),
        {"action": "set-current-schema", "schema-id": _LAST_ADDED},
        {"action": "add-spec", "spec": partition_spec(ours)},
        {"action": "set-default-spec", "spec-id": _LAST_ADDED},
        {"action": "add-sort-order", "sort-order": ours["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": _LAST_ADDED},
        {
            "action": "set-properties",
            "updates": ours["properties"]
            | {_TABLE_ID: ours["table-uuid"], _LOCATION: ours["location"]},
        },
    ]
    nothing: TableMetadata = {"schemas": [], "snapshots": [], "refs": {}}
    updates += _snapshots_added(nothing, ours)
    requirements = [
        {"type": "assert-create"} if is_staged else {"type": "assert-table-uuid", "uuid": uuid}
    ]
    return {"identifier": name.identifier, "requirements": requirements, "updates": updates}


def change(name: CatalogName, theirs: TableMetadata, ours: TableMetadata) -> Change | None:
    """Return what leads from the catalog's table, an earlier state, to ours; None if nothing."""
    updates = [
        *_properties_changed(theirs, ours),
        *_columns_changed(theirs, ours),
        *_snapshots_added(theirs, ours),
        *_snapshots_removed(theirs, ours),
    ]
    if not updates:
        return None
    requirements = [
        {"type": "assert-table-uuid", "uuid": theirs["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": _MAIN, "snapshot-id": head_of(theirs)},
    ]
    return {"identifier": name.identifier, "requirements": requirements, "updates": updates}


def has_our_ids(theirs: TableMetadata, ours: TableMetadata) -> bool:
    """Return whether the catalog has kept the ids of columns and partitions."""
    is_same_schema = _schema_id(theirs, current_schema(ours)) == theirs["current-schema-id"]
    is_same_spec = theirs["default-spec-id"] == partition_spec(ours)["spec-id"]
    return is_same_schema and is_same_spec and _has_our_spec(theirs, ours)


def _has_our_spec(theirs: TableMetadata, ours: TableMetadata) -> bool:
    """Return whether the spec that our manifests name is the same in the catalog."""
    specs = {spec["spec-id"]: spec["fields"] for spec in theirs["partition-specs"]}
    own = partition_spec(ours)
    return bool(specs.get(own["spec-id"]) == own["fields"])


def _properties_changed(theirs: TableMetadata, ours: TableMetadata) -> list[Change]:
    """Return those of ours that another program has changed: one protects the files of Delta."""
    given, own = theirs.get("properties") or {}, ours["properties"]
    lost = {name: value for name, value in own.items() if given.get(name) != value}
    return [{"action": "set-properties", "updates": lost}] if lost else []


def _columns_changed(theirs: TableMetadata, ours: TableMetadata) -> list[Change]:
    own = current_schema(ours)
    known = _schema_id(theirs, own)
    if known is None:
        return [
            _schema_added(own, ours),
            {"action": "set-current-schema", "schema-id": _LAST_ADDED},
        ]
    if known == theirs["current-schema-id"]:
        return []
    return [{"action": "set-current-schema", "schema-id": known}]


def _schema_added(schema: Mapping[str, Any], ours: TableMetadata) -> Change:
    last = ours["last-column-id"]
    return {"action": "add-schema", "schema": dict(schema), "last-column-id": last}


def _snapshots_added(theirs: TableMetadata, ours: TableMetadata) -> list[Change]:
    """Return new snapshots, and where branch and tags are."""
    last = theirs.get("last-sequence-number") or 0
    schemas = {s["schema-id"]: _schema_id(theirs, s) for s in ours["schemas"]}
    updates: list[Change] = []
    known = {entry["snapshot-id"] for entry in _snapshots(theirs)}
    for entry in sorted(ours["snapshots"], key=lambda entry: entry["sequence-number"]):
        if entry["sequence-number"] <= last:
            continue
        own = schemas.get(entry["schema-id"])
        # Which number the catalog gives to a new schema is not known yet; without one, a snapshot
        # is read with the current columns.
        number = {} if own is None else {"schema-id": own}
        rest = {key: value for key, value in entry.items() if key != "schema-id"}
        updates.append({"action": "add-snapshot", "snapshot": rest | number})
        known.add(entry["snapshot-id"])
    had = _refs(theirs)
    # A catalog takes the time of the table from the last reference to a new snapshot, and refuses
    # one that is before the branch's.
    for ref, of in sorted(ours["refs"].items(), key=lambda item: item[0] == _MAIN):
        number, kind = of["snapshot-id"], of["type"]
        if number in known and had.get(ref) != number:
            set_ref = {"action": "set-snapshot-ref", "ref-name": ref}
            updates.append(set_ref | {"type": kind, "snapshot-id": number})
    return updates


def _snapshots_removed(theirs: TableMetadata, ours: TableMetadata) -> list[Change]:
    """Return snapshots that Delta may delete the files of, and tags of cuts that are over."""
    updates: list[Change] = [
        {"action": "remove-snapshot-ref", "ref-name": ref}
        for ref in _refs(theirs)
        if is_cut_tag(ref) and ref not in ours["refs"]
    ]
    kept = {entry["snapshot-id"] for entry in ours["snapshots"]}
    gone = [e["snapshot-id"] for e in _snapshots(theirs) if e["snapshot-id"] not in kept]
    # Catalogs with an older library of Iceberg take only one in an update.
    updates += [{"action": "remove-snapshots", "snapshot-ids": [own]} for own in sorted(gone)]
    return updates


def _snapshots(metadata: TableMetadata) -> list[dict[str, Any]]:
    return metadata.get("snapshots") or []


def _has(metadata: TableMetadata, snapshot: int | None) -> bool:
    return any(entry["snapshot-id"] == snapshot for entry in _snapshots(metadata))


def _sequence_of(metadata: TableMetadata, snapshot: int | None) -> int:
    """Return the sequence number of a snapshot; 0 if the table has none of this id."""
    own = [e for e in _snapshots(metadata) if e["snapshot-id"] == snapshot]
    return int(own[0].get("sequence-number") or 0) if own else 0


def _refs(metadata: TableMetadata) -> dict[str, int]:
    refs = metadata.get("refs") or {}
    return {name: ref["snapshot-id"] for name, ref in refs.items()}


def head_of(metadata: TableMetadata) -> int | None:
    """Return the current snapshot; some catalogs write -1 for none."""
    head = metadata.get("current-snapshot-id")
    return None if head is None or head < 0 else head


def _schema_id(metadata: TableMetadata, schema: Mapping[str, Any]) -> int | None:
    """Return the number that a table gives to a schema of ours."""
    wanted = _comparable(schema["fields"])
    same = [s["schema-id"] for s in metadata["schemas"] if _comparable(s["fields"]) == wanted]
    return same[0] if same else None


def _comparable(kind: Any) -> Any:
    """Return fields or a type in one form of those in which catalogs write them."""
    if isinstance(kind, str):
        return kind.replace(" ", "")
    if isinstance(kind, list):
        return [
            (f["id"], f["name"], f["required"], f.get("doc"), _comparable(f["type"])) for f in kind
        ]
    if kind["type"] == "struct":
        return _comparable(kind["fields"])
    return kind["element-id"], _comparable(kind["element"])
