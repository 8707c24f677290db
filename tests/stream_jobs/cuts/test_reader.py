"""All tables of a mirror as of one cut, without Spark."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.cuts import Cut, CutTable, cut_errors
from stream_jobs.cuts.cut import CutStore
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import Column
from stream_jobs.delta.housekeeping import clean_log, write_checkpoint
from stream_jobs.delta.log import now
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.cut_tags import CutTags
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import Owner, pipeline_folder
from stream_jobs.run.commands import show_cuts
from stream_jobs.run.job_state import Ownership
from stream_jobs.settings import KafkaSettings, MirrorSettings, Settings
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def made(storage: LocalStorage) -> DeltaTable:
    columns = (Column("id", pa.int32(), 1, "c1"),)
    return DeltaTable.create(storage, "shop/orders", Metadata(columns))


def put(storage: LocalStorage, table: DeltaTable, number: int = 1) -> None:
    snapshot = table.snapshot
    own = CutTable(table.path, snapshot.version, snapshot.metadata.table_id)
    CutStore(storage).put(
        Cut(
            seq=f"{number:038d}",
            flavour="mysql",
            gtid=f"{SERVER}:1-{number}",
            position=f"binlog.000007:{number}00",
            source_time_ms=number * 1000,
            written_ms=number * 1000 + 5,
            tables={"shop.orders": own},
            left_out={"shop.log": "it has no primary key, and so no mirror"},
            number=number,
        )
    )


def test_a_cut_names_path_and_version_for_any_reader(storage: LocalStorage) -> None:
    table = made(storage)
    put(storage, table, 1)
    table.commit(TableCommit(), "MERGE")
    put(storage, table, 2)

    found = mirror_at(storage.root, gtid=f"{SERVER}:1")

    assert found.cut.number == 1
    assert found.tables == {"shop.orders": (f"{storage.root}/shop/orders", 0)}
    assert found.delta_tables()["shop.orders"].version() == 0
    assert mirror_at(storage.root).tables["shop.orders"].version == 1
    assert mirror_at(storage.root, time=datetime.fromtimestamp(1.5, UTC)).cut.number == 1


def test_a_cut_that_is_not_there_is_named(storage: LocalStorage) -> None:
    with pytest.raises(MirrorError) as caught:
        mirror_at(storage.root)
    assert str(caught.value) == (
        f"[M807] the mirror at {storage.root} has no cut yet; `binlog-connector-mirror cuts "
        "CONFIG` shows the cuts that there are; a new mirror has its first cut when it has come to "
        "the end of the topics"
    )
    put(storage, made(storage), 5)

    with pytest.raises(MirrorError, match=f"has no cut with {SERVER}:9;"):
        mirror_at(storage.root, gtid=f"{SERVER}:9")
    with pytest.raises(MirrorError, match=r"has no cut up to 1970-01-01T00:00:01\+00:00;"):
        mirror_at(storage.root, time=datetime.fromtimestamp(1, UTC))


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_table_that_is_not_the_same_any_more_is_never_read(
    storage: LocalStorage, *, is_made_again: bool
) -> None:
    put(storage, made(storage))
    for file in list(storage.list("shop/orders")):
        storage.delete(f"shop/orders/{file.name}")
    if is_made_again:
        made(storage)

    with pytest.raises(MirrorError) as caught:
        mirror_at(storage.root)

    assert str(caught.value) == (
        f"[M808] cut 1 of the mirror at {storage.root}: version 0 of shop.orders cannot be read "
        "any more; take a newer cut"
    )


def test_a_version_is_readable_as_long_as_the_log_leads_to_it(storage: LocalStorage) -> None:
    table = made(storage)
    put(storage, table, 1)
    for number in (2, 3):
        table.commit(TableCommit(), "MERGE")
        put(storage, table, number)
        write_checkpoint(table)
    clean_log(table, table.snapshot.version + 10**13)

    assert mirror_at(storage.root).cut.number == 3
    with pytest.raises(MirrorError, match=r"version 0 of shop\.orders cannot be read any more"):
        mirror_at(storage.root, gtid=f"{SERVER}:1")


def settings(storage: LocalStorage) -> Settings:
    kafka = KafkaSettings(bootstrap_servers=["unused:1"], topic_prefix="shop")
    return Settings(name="shop", kafka=kafka, mirror=MirrorSettings(path=storage.root))


def test_the_command_shows_each_cut(storage: LocalStorage) -> None:
    put(storage, made(storage), 7)
    out = io.StringIO()

    show_cuts(settings(storage), out, as_json=False)

    titles, line = out.getvalue().splitlines()
    assert " ".join(titles.split()) == (
        "cut committed at the source transactions cdc.seq tables left out"
    )
    assert line.split() == [
        "7",
        "1970-01-01T00:00:07.000+00:00",
        f"{SERVER}:1-7",
        f"{7:038d}",
        "1",
        "shop.log",
    ]


def test_the_command_says_that_there_is_no_cut_yet(storage: LocalStorage) -> None:
    out = io.StringIO()

    show_cuts(settings(storage), out, as_json=False)

    assert out.getvalue() == "there is no cut yet\n"


def test_the_command_prints_versions_as_json(storage: LocalStorage) -> None:
    table = made(storage)
    put(storage, table, 7)
    out = io.StringIO()

    show_cuts(settings(storage), out, as_json=True)

    assert json.loads(out.getvalue()) == {
        "cuts": [
            {
                "seq": f"{7:038d}",
                "flavour": "mysql",
                "gtid": f"{SERVER}:1-7",
                "position": "binlog.000007:700",
                "source_time_ms": 7000,
                "written_ms": 7005,
                "tables": {
                    "shop.orders": {
                        "path": "shop/orders",
                        "version": 0,
                        "generation": table.snapshot.metadata.table_id,
                    }
                },
                "left_out": {"shop.log": "it has no primary key, and so no mirror"},
                "number": 7,
                "shards": {},
                "source_time": "1970-01-01T00:00:07.000+00:00",
                "written": "1970-01-01T00:00:07.005+00:00",
                "iceberg_tag": None,
            }
        ]
    }


def shared(storage: LocalStorage, prefix: str) -> LocalStorage:
    """Return the folder of a pipeline that shares a mirror."""
    folder = pipeline_folder(storage.root, prefix)
    owner = Owner(prefix, prefix, "host", 1, "2026-01-01T00:00:00+00:00", prefix, shared=True)
    Ownership(folder.storage, folder.base, owner).claim()
    return LocalStorage(folder.base)


def published(
    storage: LocalStorage, table: DeltaTable, at: int, prefix: str, cut: int | None = None
) -> None:
    """Publish the newest version to Iceberg."""
    files = TableFiles(storage, reader_uri(storage.root), is_shared=True)
    publisher = TablePublisher(files, table.path, 4, CutTags(prefix))
    cuts = {} if cut is None else {cut: at}
    publisher.publish(table.snapshot, Occasion(at, {}, cut, cuts))


@pytest.mark.parametrize("is_tagged", [False, True])
@pytest.mark.parametrize("days", [6, 8])
def test_a_version_that_others_have_replaced_long_ago_is_not_read(
    storage: LocalStorage, days: int, *, is_tagged: bool
) -> None:
    """The pipeline of the cut has stopped, and others remove files and tags."""
    folder, table = shared(storage, "us"), made(storage)
    began = now() - days * DAY_MS
    put(folder, table)
    PublicationRecord({1: began}, tags=CutTags("us")).write(folder)
    published(storage, table, began, "us", 1 if is_tagged else None)
    before = table.snapshot.version
    table.commit(TableCommit(), "MERGE")
    published(storage, table, began, "eu")
    commit = f"{storage.root}/shop/orders/_delta_log/{before + 1:020d}.json"
    os.utime(commit, (began / 1000, began / 1000))
    gone = text_of(
        cut_errors.TABLE_GONE, number=1, path=storage.root, version=before, table="shop.orders"
    )
    formats: tuple[Literal["delta", "iceberg"], ...] = ("delta", "iceberg")
    for form in formats:
        if days == 8:
            with pytest.raises(MirrorError) as caught:
                mirror_at(storage.root, prefix="us", format=form)
            assert caught.value.text == gone
        else:
            found = mirror_at(storage.root, prefix="us", format=form).tables
            versions = {name: own.version for name, own in found.items()}
            is_there = form == "delta" or is_tagged
            assert versions == ({"shop.orders": before} if is_there else {})


def test_a_tag_of_another_version_is_not_read(storage: LocalStorage) -> None:
    folder, table = shared(storage, "us"), made(storage)
    table.commit(TableCommit(), "MERGE")
    published(storage, table, now(), "us", 1)
    table.commit(TableCommit(), "MERGE")
    put(folder, table)
    PublicationRecord({1: now()}, tags=CutTags("us")).write(folder)
    with pytest.raises(MirrorError) as caught:
        mirror_at(storage.root, prefix="us", format="iceberg")
    assert caught.value.code is cut_errors.TABLE_GONE


def test_a_shared_mirror_has_the_cuts_of_the_pipeline_that_is_named(storage: LocalStorage) -> None:
    table = made(storage)
    for prefix, number in (("eu", 1), ("us", 2)):
        put(shared(storage, prefix), table, number)
    for prefix, number in (("eu", 1), ("us", 2)):
        found = mirror_at(storage.root, prefix=prefix)
        assert found.cut.number == number
        assert found.tables["shop.orders"].path == f"{storage.root}/shop/orders"
    for missing in (None, ""):
        with pytest.raises(ConfigError) as caught:
            mirror_at(storage.root, prefix=missing)
        assert caught.value.code is cut_errors.PREFIX_MISSING
    with pytest.raises(MirrorError) as gone:
        mirror_at(storage.root, prefix="uss")
    place = f"{storage.root}/_pipelines/uss"
    assert gone.value.text == text_of(cut_errors.NO_CUT, path=place, wanted="yet")
