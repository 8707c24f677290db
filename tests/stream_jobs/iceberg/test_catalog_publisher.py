"""Tables in a REST catalog equal the mirror's: SeaweedFS is the catalog, others read from it."""

from __future__ import annotations

import datetime as dt
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.delta import object_clients
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.object_storage import ObjectStorage
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors
from stream_jobs.iceberg.catalog_login import CatalogAccess
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.rest_catalog import CatalogName, RestCatalog
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from tests.foundation.errors.texts import shown
from tests.stream_jobs.catalog_server import KEY, SECRET, WAREHOUSE, Proxy
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.lake import LOGIN, Lake, refused
from tests.stream_jobs.iceberg.partitioned import Partitioned
from tests.stream_jobs.iceberg.readers import DuckDB, delta_rs_rows, sorted_rows
from tests.stream_jobs.iceberg.table_story import Published
from verification.foreign import foreign_errors
from verification.foreign.table_choice import read_choice

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from tests.stream_jobs.catalog_server import CatalogServer


def test_readers_of_the_catalog_agree_after_every_kind_of_commit(
    lake: Lake, duckdb: DuckDB
) -> None:
    (sample,) = lake.samples
    assert lake.publish() == [None]
    file = sample.append(range(10))
    assert lake.publish() == [None]
    assert lake.agree() == 10
    sample.kill(**{file.path: [0, 3]})
    sample.append(range(10, 20))
    assert lake.publish(cut=1, cuts={1: 2_000_000_000_000}) == [None]
    assert lake.agree() == 18
    refs = lake.read().metadata.refs
    assert refs["cut_1"].snapshot_id == refs["latest_cut"].snapshot_id == 3
    first, *others = sample.table.snapshot.columns
    metadata = sample.table.snapshot.metadata.with_columns([first, *others[2:]])
    sample.table.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")
    assert lake.publish(cut=2, cuts={2: 2_000_000_000_000}) == [None]
    assert lake.agree() == 18
    assert lake.read().metadata.refs.keys() == {"main", "cut_2", "latest_cut"}
    # Nothing has changed, so nothing is committed.
    before = len(lake.proxy.commits())
    assert lake.commit() == [None]
    assert len(lake.proxy.commits()) == before
    location = lake.read().metadata_location
    assert duckdb.catalog_rows(location, lake.server.s3, KEY, SECRET) == delta_rs_rows(
        lake.published[0].delta
    )


def test_verify_reads_a_table_by_its_name_in_the_catalog(lake: Lake) -> None:
    (sample,) = lake.samples
    sample.append(range(10))
    assert lake.publish() == [None]
    host = lake.server.url.removeprefix("http://")
    options = f"table=lake.{lake.namespace}_shop.{{table}}&warehouse={WAREHOUSE}"
    place = f"iceberg-rest:http://{KEY}:{SECRET}@{host}?{options}"
    choice = read_choice(f"shop.t0={place.format(table='t0')}")
    target = choice.opened()
    first = target.refresh()
    assert (first, target.refresh()) == (f"snapshot {sample.table.snapshot.version}",) * 2
    file = sample.append(range(10, 20))
    sample.kill(**{file.path: [0, 3]})
    assert lake.publish() == [None]
    assert target.refresh() > first
    found = pa.concat_tables(target.batches(target.schema.names))
    assert sorted_rows(found) == sorted_rows(lake.read().scan().to_arrow())
    assert target.rows == found.num_rows == 18
    gone = read_choice(f"shop.t9={place.format(table='t9')}")
    with pytest.raises(MirrorError) as caught:
        gone.opened().refresh()
    assert str(caught.value) == shown(foreign_errors.NO_TARGET, target=gone.shown_target)
    assert SECRET not in str(caught.value)
    form = "iceberg-rest:https://HOST/PATH?table=NAMESPACE.TABLE&warehouse=NAME"
    for wrong in (
        f"http://{host}?table=orders",
        f"http://{host}?table=a.b&user=c",
        f"http://{host}?table=a.b&sigv4_service=glue",
        "/a?table=b.c",
    ):
        other = read_choice(f"shop.t0=iceberg-rest:{wrong}")
        with pytest.raises(ConfigError) as refusal:
            other.opened()
        assert str(refusal.value) == shown(
            foreign_errors.SERVER_FORM, target=other.shown_target, form=form
        )


def test_a_table_with_partitions_keeps_its_ids(lake: Lake) -> None:
    (sample,) = lake.samples
    # The ids have a gap, and are not in the order of the columns.
    kinds = {"day": pa.date32(), "gone": pa.date32(), "id": pa.int64()}
    day, _, number = new_columns([(name, kind, {}) for name, kind in kinds.items()])
    columns = (number, day)
    metadata = Metadata(columns, partition_columns=("day",))
    sample.path = "shop/t1"
    sample.table = DeltaTable.create(lake.storage, sample.path, metadata)
    lake.published = [Published(lake.storage, sample.path)]
    at = dt.date(2026, 11, 28)
    values = {day.physical_name: at.isoformat()}
    data = pa.table({"id": [1, 2, 3]})
    file = write_file(lake.storage, sample.path, [number], data, partition_values=values)
    sample.table.commit(TableCommit(new=[file]), "WRITE")
    assert lake.publish() == [None]
    table = lake.read(1)
    assert sorted_rows(table.scan().to_arrow()) == [(1, at), (2, at), (3, at)]
    assert [field.source_id for field in table.spec().fields] == [day.field_id]


def test_columns_of_partitions_may_change_their_places_in_a_catalog(lake: Lake) -> None:
    sample = Partitioned(lake.storage, "shop/t1", "a", "b")
    lake.samples[0].path, lake.samples[0].table = sample.path, sample.table
    lake.published = [Published(lake.storage, sample.path)]
    sample.add(0)
    assert lake.publish() == [None]
    made = lake.read(1).metadata.table_uuid
    sample.arrange("b", "id", "a")
    sample.add(1)
    assert lake.publish() == [None]
    assert sorted_rows(lake.read(1).scan().to_arrow()) == [
        *(("b0", number, "a0") for number in range(3)),
        *(("b1", number, "a1") for number in range(3, 6)),
    ]
    assert lake.read(1).metadata.table_uuid == made


def test_tables_of_a_cut_are_committed_in_one_request(pair: Lake) -> None:
    assert pair.publish() == [None, None]
    for sample in pair.samples:
        sample.append(range(5))
    before = len(pair.proxy.commits())
    assert pair.publish(cut=1, cuts={1: 2_000_000_000_000}) == [None, None]
    assert pair.proxy.commits()[before:] == ["POST /v1/warehouse/transactions/commit"]
    assert [pair.agree(0), pair.agree(1)] == [5, 5]
    assert all("cut_1" in pair.read(number).metadata.refs for number in (0, 1))


def test_a_catalog_without_transactions_gets_one_table_after_the_other(pair: Lake) -> None:
    config = {"defaults": {}, "overrides": {"prefix": WAREHOUSE}, "endpoints": []}
    pair.proxy.own = lambda asked: (200, config) if "/v1/config" in asked else None
    pair.restart()
    pair.publish()
    for sample in pair.samples:
        sample.append(range(5))
    assert pair.publish() == [None, None]
    assert not [asked for asked in pair.proxy.asked if "transactions" in asked]
    # Nor one that says so only when it is asked.
    pair.proxy.own = lambda asked: (501, {}) if "transactions" in asked else None
    pair.restart()
    for _ in range(2):
        for sample in pair.samples:
            sample.append(range(5))
        assert pair.publish() == [None, None]
    assert len([asked for asked in pair.proxy.asked if "transactions" in asked]) == 1
    assert [pair.agree(0), pair.agree(1)] == [15, 15]


def test_a_death_between_two_tables_of_a_cut_is_mended_by_the_next_process(pair: Lake) -> None:
    assert pair.publish() == [None, None]
    for sample in pair.samples:
        sample.append(range(5))
    pair.proxy.own = lambda asked: (501, {}) if "transactions" in asked else None
    pair.proxy.reaches = lambda asked: not (asked.startswith("POST") and "/tables/t1" in asked)
    first, second = pair.publish()
    assert first is None
    assert "M815" in refused(second)
    assert (pair.agree(0), pair.read(1).metadata.current_snapshot_id) == (5, 0)
    pair.proxy.reaches = lambda _: True
    pair.restart()
    assert pair.commit() == [None, None]
    assert [pair.agree(0), pair.agree(1)] == [5, 5]


@pytest.mark.parametrize("what", ["/tables/t0", "transactions"])
def test_a_commit_whose_answer_is_lost_is_found_and_not_repeated(pair: Lake, what: str) -> None:
    assert pair.publish() == [None, None]
    pair.samples[0].append(range(5))
    if what == "transactions":
        pair.samples[1].append(range(5))
    before = len(pair.proxy.commits())
    pair.proxy.answers = lambda asked: not (asked.startswith("POST") and what in asked)
    assert pair.publish() == [None, None]
    assert len(pair.proxy.commits()[before:]) == 1
    assert pair.agree(0) == 5


def test_a_catalog_that_is_away_keeps_what_its_readers_see_and_is_caught_up(lake: Lake) -> None:
    (sample,), (published,) = lake.samples, lake.published
    sample.append(range(5))
    assert lake.publish() == [None]
    seen = lake.publisher.states.kept(sample.path)
    assert seen is not None
    lake.proxy.reaches = lambda _: False
    # More than it keeps for readers by path.
    published.keep_snapshots(3)
    for number in range(1, 6):
        sample.append(range(5 * number, 5 * number + 5))
        (problem,) = lake.publish()
        assert refused(problem).startswith(
            f"[M815] the Iceberg catalog {lake.proxy.url} does not answer GET /namespaces/lake%1F"
        )
        assert lake.publisher.states.kept(sample.path) == seen
        assert len(lake.read().scan().to_arrow()) == 5
    # Another process knows it, too, and without asking.
    lake.restart()
    published.keep_snapshots(3)
    assert lake.publisher.states.kept(sample.path) == seen
    lake.proxy.reaches = lambda _: True
    assert lake.commit() == [None]
    assert lake.agree() == 30
    # It went on from there.
    assert not [asked for asked in lake.proxy.asked if asked.startswith("DELETE")]
    now = lake.publisher.states.kept(sample.path)
    assert now is not None
    assert now.at > seen.at
    lake.restart()
    assert lake.publisher.states.kept(sample.path) is None


@pytest.mark.parametrize(
    ("what", "is_new"), [("/tables/t0", True), ("/tables/t0", False), ("/transactions/", False)]
)
def test_what_a_catalog_may_have_stays_until_it_says_whether(
    pair: Lake, what: str, *, is_new: bool
) -> None:
    for published in pair.published:
        published.keep_snapshots(1)
    if not is_new:
        assert pair.publish() == [None, None]
    for sample in pair.samples[: 1 if what == "/tables/t0" else 2]:
        sample.append(range(5))
    sent: list[str] = []

    def reaches(asked: str) -> bool:
        if asked.startswith("POST") and what in asked:
            sent.append(asked)
            return len(sent) == 1
        return not sent

    pair.proxy.reaches = reaches
    pair.proxy.answers = lambda asked: not (asked.startswith("POST") and what in asked)
    assert "M815" in refused(pair.publish()[0])
    before = len(pair.proxy.asked)
    made, listed = pair.read().metadata.table_uuid, pair.read().metadata.current_snapshot_id
    for number in range(3):
        # The process after this one knows it, too.
        pair.restart()
        pair.published[0].keep_snapshots(1)
        pair.samples[0].append([number + 5])
        assert "M815" in refused(pair.publish()[0])
        assert len(pair.read().scan().to_arrow()) == 5
        head = pair.published[0].files.load("shop/t0")
        assert head is not None
        found = {entry["snapshot-id"] for entry in head.metadata["snapshots"]}
        # The current one, the one that may be there, and the one that was there.
        assert found == {number + 2, listed} | (set() if is_new else {0})
    pair.proxy.reaches = pair.proxy.answers = lambda _: True
    assert pair.commit()[0] is None
    assert pair.agree() == 8
    assert pair.read().metadata.table_uuid == made
    assert not [asked for asked in pair.proxy.asked[before:] if asked.startswith("DELETE")]


def test_a_process_does_not_drop_what_a_later_one_has_published(lake: Lake) -> None:
    (sample,), (published,) = lake.samples, lake.published
    assert lake.publish() == [None]
    made = lake.read().metadata.table_uuid
    access = CatalogAccess(lake.server.url, WAREHOUSE, LOGIN)
    space = f"lake.{lake.namespace}_{{database}}"
    later = CatalogPublisher(RestCatalog(access), published.files, space, replaces_foreign=False)

    def overtake(asked: str) -> None:
        if asked.startswith("GET") and asked.endswith("/tables/t0"):
            lake.proxy.own = lambda _: None
            sample.append(range(5, 9))
            published.publish(sample.table)
            with ThreadPoolExecutor(1) as pool:
                assert later.publish({sample.path: ("shop", "t0")}, pool) == {sample.path: None}

    lake.proxy.own = overtake
    sample.append(range(5))
    assert refused(lake.publish()[0]).startswith(
        f"[M821] the Iceberg catalog {lake.proxy.url} refuses a commit to lake.{lake.namespace}"
        "_shop.t0: another commit was first: it has snapshot 2, which is newer; nothing, unless"
    )
    assert lake.read().metadata.table_uuid == made
    assert lake.agree() == 9
    assert lake.commit() == [None]
    assert not [asked for asked in lake.proxy.asked if asked.startswith("DELETE")]


def takes_one_snapshot(_: BaseHTTPRequestHandler, body: bytes) -> tuple[int, Any] | None:
    """Answer as Apache's library does that takes one snapshot in each update that removes some."""
    document = orjson.loads(body) if body.startswith(b"{") else {}
    for update in document.get("updates", []):
        numbers = update.get("snapshot-ids")
        if numbers is not None and len(numbers) != 1:
            why = "Invalid set of snapshot ids to remove. Expected one value but received: "
            return 400, {"error": {"message": f"{why}{numbers}", "type": "BadRequestException"}}
    return None


def test_snapshots_that_expire_together_are_removed_one_by_one(lake: Lake) -> None:
    (sample,), (published,) = lake.samples, lake.published
    lake.proxy.refuses = takes_one_snapshot
    for number in range(5):
        sample.append([number])
        assert lake.publish() == [None]
    # The retention of their files ends, and with the next publication they all expire.
    published.at += 30 * 86_400_000
    sample.append([5])
    assert lake.publish() == [None]
    assert lake.agree() == 6
    assert [entry.snapshot_id for entry in lake.read().metadata.snapshots] == [5, 6]
    assert len(lake.proxy.commits()) == 6


def test_a_table_that_was_dropped_in_the_catalog_is_made_once_more(lake: Lake) -> None:
    lake.samples[0].append(range(5))
    assert lake.publish() == [None]
    lake.catalog().drop_table(("lake", f"{lake.namespace}_shop", "t0"))
    assert lake.commit() == [None]
    assert lake.agree() == 5


def test_a_mirror_that_was_made_again_replaces_its_table(lake: Lake) -> None:
    lake.samples[0].append(range(5))
    assert lake.publish() == [None]
    old = lake.read().metadata.table_uuid
    # As after the folder of the Iceberg table was lost: all snapshots are others.
    lake.published[0].files.delete(lake.samples[0].path)
    lake.restart()
    lake.samples[0].append(range(5, 9))
    assert lake.publish() == [None]
    assert lake.agree() == 9
    assert lake.read().metadata.table_uuid != old


FORBIDDEN = {"error": {"message": "no right", "type": "ForbiddenException"}}


def deny_creation(lake: Lake) -> None:
    """Let the account change and drop tables, and not make them."""
    creation = f"{lake.namespace}_shop/tables"
    lake.proxy.own = lambda asked: (403, FORBIDDEN) if asked.endswith(creation) else None


def test_an_account_that_may_create_nothing_is_enough_for_tables_that_are_there(
    pair: Lake,
) -> None:
    for sample in pair.samples:
        sample.append(range(5))
    assert pair.publish() == [None, None]
    deny_creation(pair)
    pair.restart()
    tables = [("shop", "t0"), ("shop", "t1")]
    restriction = pair.publisher.verify(tables, threads=2)
    assert restriction is not None
    assert restriction.code is catalog_errors.NO_NEW_TABLES
    assert str(restriction).startswith(
        "[M832] the Iceberg catalog can get no more tables: [M817] "
        f"the Iceberg catalog {pair.proxy.url} does not permit POST /namespaces/lake%1F"
    )
    pair.samples[0].append(range(5, 9))
    assert pair.publish() == [None, None]
    assert pair.agree() == 9
    # One that has come since, or has no mirror, does not stop the others.
    restriction = pair.publisher.verify([("shop", "a"), *tables, ("shop", "t2")])
    assert restriction is not None
    assert restriction.code is catalog_errors.NO_NEW_TABLES
    with pytest.raises(MirrorError) as caught:
        pair.publisher.verify([("shop", "a"), ("shop", "t2")])
    assert caught.value.code is catalog_errors.NO_TABLES
    assert "and it has no table of the mirror;" in str(caught.value)


def test_an_account_that_may_not_make_a_table_again_does_not_drop_it(lake: Lake) -> None:
    lake.samples[0].append(range(5))
    assert lake.publish() == [None]
    old = lake.read().metadata
    lake.published[0].files.delete(lake.samples[0].path)
    deny_creation(lake)
    lake.restart()
    assert "[M817]" in refused(lake.publish()[0])
    assert lake.read().metadata == old
    lake.proxy.own = lambda _: None
    assert lake.commit() == [None]
    assert lake.agree() == 5
    assert lake.read().metadata.table_uuid != old.table_uuid


def overwrite(lake: Lake, snapshot: int) -> None:
    """Commit as another program does, for example one that compacts."""
    found = lake.read().metadata
    head = found.current_snapshot()
    assert head is not None
    assert head.sequence_number is not None
    entry = {
        "snapshot-id": snapshot,
        "parent-snapshot-id": head.snapshot_id,
        "sequence-number": head.sequence_number + 1,
        "timestamp-ms": found.last_updated_ms + 1,
        "first-row-id": 10_000,
        "added-rows": 0,
        "manifest-list": f"{found.location}/metadata/snap-{snapshot}.avro",
        "summary": {"operation": "overwrite", "engine-name": "spark"},
    }
    main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch"}
    commit_as_another(
        lake, {"action": "add-snapshot", "snapshot": entry}, main | {"snapshot-id": snapshot}
    )


def test_a_commit_of_another_program_stops_the_table_or_is_replaced(lake: Lake) -> None:
    (sample,) = lake.samples
    sample.append(range(5))
    assert lake.publish() == [None]
    overwrite(lake, 77)
    head = 77
    (problem,) = lake.publish()
    assert refused(problem).startswith(
        f"[M820] lake.{lake.namespace}_shop.t0 in the Iceberg catalog {lake.proxy.url}: "
        f"spark has committed snapshot {head} (overwrite); let no other program write"
    )
    # It stays as it is.
    sample.append(range(5, 9))
    assert "M820" in refused(lake.publish()[0])
    assert lake.read().metadata.current_snapshot_id == head
    lake.restart(replaces_foreign=True)
    assert lake.commit() == [None]
    assert lake.agree() == 9


def commit_as_another(lake: Lake, *updates: dict[str, Any]) -> None:
    """Change the table in the catalog as another program does."""
    name = CatalogName(("lake", f"{lake.namespace}_shop"), "t0")
    RestCatalog(CatalogAccess(lake.server.url, WAREHOUSE, LOGIN)).commit(
        [{"identifier": name.identifier, "requirements": [], "updates": list(updates)}]
    )


def publish_now(lake: Lake) -> list[MirrorError | None]:
    """Publish with the clock of the catalog, which has to date what another program changes."""
    lake.published[0].at = int(time.time() * 1000) - 10_000
    return lake.publish()


def set_back(lake: Lake, snapshot: int) -> None:
    main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch"}
    commit_as_another(lake, main | {"snapshot-id": snapshot})


@pytest.mark.parametrize("is_later", [False, True])
def test_a_table_that_was_set_back_stops_or_is_led_on_and_is_never_dropped(
    lake: Lake, *, is_later: bool
) -> None:
    (sample,) = lake.samples
    for number in range(3):
        sample.append([number])
        assert publish_now(lake) == [None]
    made, before = lake.read().metadata.table_uuid, len(lake.proxy.asked)
    set_back(lake, 1)
    if is_later:
        # Ours has forgotten the snapshot to which it was set back.
        lake.published[0].keep_snapshots(1)
    sample.append([3])
    (problem,) = publish_now(lake)
    assert refused(problem).startswith(
        f"[M820] lake.{lake.namespace}_shop.t0 in the Iceberg catalog {lake.proxy.url}: "
        "another program has set it back from snapshot 3 to 1; let no other program write"
    )
    assert lake.read().metadata.current_snapshot_id == 1
    assert len(lake.read().scan().to_arrow()) == 1
    # Its readers keep the files.
    kept = lake.publisher.states.kept(sample.path)
    assert kept is not None
    assert kept.snapshot == 1
    lake.restart(replaces_foreign=True)
    assert lake.commit() == [None]
    assert lake.agree() == 4
    assert lake.read().metadata.table_uuid == made
    assert not [asked for asked in lake.proxy.asked[before:] if asked.startswith("DELETE")]


def test_a_table_that_was_set_back_and_has_lost_what_came_after_is_not_taken_for_equal(
    lake: Lake,
) -> None:
    (sample,) = lake.samples
    for number in range(3):
        sample.append([number])
        assert publish_now(lake) == [None]
    set_back(lake, 1)
    for number in (2, 3):
        commit_as_another(lake, {"action": "remove-snapshots", "snapshot-ids": [number]})
    assert "another program has set it back from snapshot 3 to 1" in refused(lake.commit()[0])
    kept = lake.publisher.states.kept(sample.path)
    assert kept is not None
    assert kept.snapshot == 1
    lake.restart(replaces_foreign=True)
    assert lake.commit() == [None]
    assert lake.agree() == 3


def test_a_property_that_protects_files_is_set_again(lake: Lake) -> None:
    (sample,) = lake.samples
    sample.append([0])
    assert publish_now(lake) == [None]
    commit_as_another(lake, {"action": "set-properties", "updates": {"gc.enabled": "true"}})
    assert lake.read().properties["gc.enabled"] == "true"
    assert lake.commit() == [None]
    assert lake.read().properties["gc.enabled"] == "false"
    commit_as_another(lake, {"action": "remove-properties", "removals": ["gc.enabled"]})
    assert "gc.enabled" not in lake.read().properties
    sample.append([1])
    assert publish_now(lake) == [None]
    assert lake.read().properties["gc.enabled"] == "false"
    assert lake.agree() == 2


def test_a_table_of_somebody_else_is_never_touched(lake: Lake) -> None:
    lake.catalog().create_namespace_if_not_exists(("lake",))
    space = ("lake", f"{lake.namespace}_shop")
    lake.catalog().create_namespace_if_not_exists(space)
    schema = pa.schema([("a", pa.int32())])
    made = lake.catalog().create_table((*space, "t0"), schema)
    lake.restart(replaces_foreign=True)
    (problem,) = lake.publish()
    assert refused(problem).startswith(
        f"[M819] lake.{lake.namespace}_shop.t0 in the Iceberg catalog {lake.proxy.url} is not a "
        f"table of this mirror, but one at {made.location()}; drop this table"
    )
    assert lake.read().metadata.table_uuid == made.metadata.table_uuid
    # Its readers read nothing of ours.
    assert lake.publisher.states.kept(lake.samples[0].path) is None


def test_a_stale_head_is_looked_at_again(lake: Lake) -> None:
    (sample,) = lake.samples
    assert lake.publish() == [None]
    sample.append(range(5))
    # Another process of the same job commits first.
    is_first = [True]

    def overtake(asked: str) -> tuple[int, Any] | None:
        if asked.startswith("POST") and "/tables/t0" in asked and is_first.pop():
            is_first.append(False)
            said = {"error": {"message": "branch main has changed", "type": "CommitFailed"}}
            return 409, said
        return None

    lake.proxy.own = overtake
    assert lake.publish() == [None]
    assert lake.agree() == 5
    conflict = {"error": {"message": "branch main has changed", "type": "CommitFailed"}}
    lake.proxy.own = lambda asked: (
        (409, conflict) if "/tables/t0" in asked and "POST" in asked else None
    )
    sample.append(range(5, 6))
    assert refused(lake.publish()[0]).startswith(
        f"[M821] the Iceberg catalog {lake.proxy.url} refuses POST /namespaces/lake%1F"
        f"{lake.namespace}_shop/tables/t0: another commit was first: branch main has changed "
        "(CommitFailed); nothing, unless it happens again and again"
    )


def test_a_catalog_that_gives_other_ids_does_not_keep_the_table(lake: Lake) -> None:
    lake.samples[0].append(range(5))
    name = f"/namespaces/lake%1F{lake.namespace}_shop/tables/t0"
    made = {"metadata": {"partition-specs": [], "schemas": [], "current-schema-id": 0}}
    made["metadata"]["default-spec-id"] = 0
    answers = iter([(404, {}), (200, made)])
    lake.proxy.own = lambda asked: (
        next(answers) if asked.endswith(name) and "GET" in asked else None
    )
    assert refused(lake.publish()[0]).startswith(
        f"[M818] the Iceberg catalog {lake.proxy.url} refuses to make lake.{lake.namespace}_shop.t0"
        ": it has given columns or partitions other ids; look at"
    )
    assert any(asked.startswith("DELETE") for asked in lake.proxy.asked)


def test_a_mirror_in_a_bucket_is_read_through_the_catalog(
    server: CatalogServer,
    proxy: Proxy,
    tmp_path: Path,
    duckdb: DuckDB,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    object_clients.client.cache_clear()
    storage = ObjectStorage("s3", "plain", "mirror")
    sample = Sample(storage, "shop/t0")
    files = TableFiles(storage, reader_uri("s3://plain/mirror"))
    lake = Lake(server, proxy, tmp_path / "mirror", 0)
    lake.samples = [sample]
    login = CatalogAccess(proxy.url, WAREHOUSE, LOGIN)
    lake.publisher = CatalogPublisher(
        RestCatalog(login), files, f"lake.{lake.namespace}_{{database}}", replaces_foreign=False
    )
    publisher = TablePublisher(files, sample.path, 60)
    for number in range(3):
        file = sample.append(range(10 * number, 10 * number + 10))
        sample.kill(**{file.path: [0]})
        publisher.publish(sample.table.snapshot, Occasion(1_800_000_000_000 + number))
        assert lake.commit() == [None]
    table = lake.read()
    rows = sorted_rows(table.scan().to_arrow())
    assert len(rows) == 27
    assert duckdb.catalog_rows(table.metadata_location, server.s3, KEY, SECRET) == rows
    assert sorted(row[0] for row in rows) == sample.ids()
    object_clients.client.cache_clear()


def test_nothing_is_kept_for_a_table_that_the_catalog_does_not_make(lake: Lake) -> None:
    (sample,) = lake.samples
    denied = {"error": {"message": "no right", "type": "ForbiddenException"}}
    lake.proxy.own = lambda asked: (403, denied) if asked.startswith("POST /v1/ware") else None
    for number in range(2):
        sample.append([number])
        assert "[M817]" in refused(lake.publish()[0])
        assert lake.publisher.states.kept(sample.path) is None
    lake.proxy.own = lambda _: None
    assert lake.commit() == [None]
    assert lake.agree() == 2
