"""What is committed in a catalog, in an order that every catalog takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_jobs.iceberg import catalog_changes
from stream_jobs.iceberg.catalog_changes import Relation
from stream_jobs.iceberg.rest_catalog import CatalogName
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.partitioned import Partitioned
from tests.stream_jobs.iceberg.table_story import Published

if TYPE_CHECKING:
    from pathlib import Path

from stream_jobs.delta.storages import LocalStorage

NAME = CatalogName(("shop",), "t")
MADE = {"table-uuid": "7c1f", "location": "s3://lake/shop/t"}


def updates(change: dict[str, Any] | None, action: str) -> list[dict[str, Any]]:
    assert change is not None
    return [update for update in change["updates"] if update["action"] == action]


def test_the_branch_moves_after_the_tags_of_new_snapshots(tmp_path: Path) -> None:
    # Apache's catalog takes the time of the table from the last reference to a new snapshot, and
    # refuses a time before that of the branch.
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    published = Published(storage, sample.path)
    cuts = dict.fromkeys((1, 2), 2000000000000)
    for number in (1, 2):
        sample.append([number])
        published.publish(sample.table, cut=number, cuts=cuts)
    sample.append([3])
    ours = published.publish(sample.table, cuts=cuts).metadata
    made = catalog_changes.creation(NAME, MADE, ours, is_staged=True)
    refs = [update["ref-name"] for update in updates(made, "set-snapshot-ref")]
    assert sorted(refs) == ["cut_1", "cut_2", "latest_cut", "main"]
    assert refs[-1] == "main"
    added = [update["snapshot"]["snapshot-id"] for update in updates(made, "add-snapshot")]
    assert added == [1, 2, 3]


def test_types_are_the_same_in_each_form_of_a_catalog(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    ours = Published(storage, sample.path).publish(sample.table).metadata
    given = ours["properties"] | {
        "binlog-connector.table-id": ours["table-uuid"],
        "binlog-connector.location": ours["location"],
    }
    (schema,) = ours["schemas"]
    fields = [
        field | {"type": field["type"].replace(", ", ",")}
        if isinstance(field["type"], str)
        else field
        for field in schema["fields"]
    ]
    # The one of the catalog has another number, and a snapshot that is -1 is none.
    theirs = ours | {
        "properties": given,
        "schemas": [schema | {"schema-id": 4, "fields": fields}],
        "current-schema-id": 4,
    }
    assert catalog_changes.relation(theirs, ours) is Relation.EARLIER
    assert catalog_changes.change(NAME, theirs, ours) is None
    assert catalog_changes.head_of(theirs | {"current-snapshot-id": -1}) is None
    wider = theirs["schemas"][0] | {"fields": fields[:-1]}
    change = catalog_changes.change(NAME, theirs | {"schemas": [wider]}, ours)
    assert len(updates(change, "add-schema")) == 1
    assert updates(change, "set-current-schema") == [
        {"action": "set-current-schema", "schema-id": -1}
    ]


def test_a_table_with_other_partitions_is_made_again(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Partitioned(storage, "shop/t", "a", "b")
    sample.add(0)
    ours = Published(storage, sample.path).publish(sample.table).metadata
    given = ours["properties"] | {
        "binlog-connector.table-id": ours["table-uuid"],
        "binlog-connector.location": ours["location"],
    }
    (spec,) = ours["partition-specs"]
    theirs = ours | {"properties": given, "partition-specs": [spec, {"spec-id": 1, "fields": []}]}
    assert catalog_changes.relation(theirs, ours) is Relation.EARLIER
    other = spec | {"fields": spec["fields"][::-1]}
    theirs |= {"partition-specs": [other]}
    assert catalog_changes.relation(theirs, ours) is Relation.OTHER_GENERATION


def test_a_table_whose_current_snapshot_is_gone_from_ours_is_led_on(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    published = Published(storage, sample.path)
    published.publish(sample.table)
    sample.append([1])
    had = published.publish(sample.table).metadata
    sample.append([2])
    ours = published.publish(sample.table).metadata
    given = had["properties"] | {
        "binlog-connector.table-id": had["table-uuid"],
        "binlog-connector.location": had["location"],
    }
    theirs = had | {"properties": given}
    first, _, newest = ours["snapshots"]
    ours = ours | {"snapshots": [first, newest]}
    assert catalog_changes.relation(theirs, ours) is Relation.EARLIER
    assert catalog_changes.can_follow(theirs, ours)
    change = catalog_changes.change(NAME, theirs, ours)
    assert updates(change, "remove-snapshots") == [
        {"action": "remove-snapshots", "snapshot-ids": [1]}
    ]
    # Without one that both have, nothing says that they are the same.
    ours = ours | {"snapshots": [newest]}
    assert catalog_changes.relation(theirs, ours) is Relation.OTHER_GENERATION
