"""Cuts in files: what was written is read, from any storage, by their number, GTID and time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.cuts import Cut, CutTable, cut_at, latest_cut, read_cuts
from stream_jobs.cuts.cut import CutShards, CutStore
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
A = CutTable("shop/a", 1, "id-a")
B = CutTable("shop/b", 5, "id-b")


def cut(
    number: int,
    tables: Mapping[str, CutTable] | None = None,
    *,
    gtid: str | None = None,
    flavour: str = "mysql",
) -> Cut:
    """A cut that has the transactions 1 to `number`, the last one of second `number`."""
    return Cut(
        seq=f"{number:038d}",
        flavour=flavour,
        gtid=gtid or f"{SERVER}:1-{number}",
        position=f"binlog.000007:{number}00",
        source_time_ms=number * 1000,
        written_ms=number * 1000 + 5,
        tables={"shop.a": A._replace(version=number), "shop.b": B} if tables is None else tables,
        left_out={"shop.c": "is set aside"},
        number=number,
    )


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def test_cuts_are_read_as_they_were_written(storage: LocalStorage) -> None:
    written = [cut(number) for number in range(1, 251)]

    store = CutStore(storage)
    assert all(store.put(each) for each in written)

    assert read_cuts(storage) == written
    assert latest_cut(storage) == written[-1]
    assert len(list(storage.list("_cdc/cut_tables"))) == 3


@pytest.mark.parametrize("known", [1, 3, 4, 9])
def test_the_newest_cut_is_found_from_one_that_is_known(storage: LocalStorage, known: int) -> None:
    store = CutStore(storage)
    written = [cut(number) for number in range(1, 5)]
    for each in written:
        store.put(each)

    assert store.latest(known) == written[-1]
    store.remove(4)
    # A mirror that was made again may have none from there on.
    assert store.latest(known) == written[2]


def test_a_mirror_without_cuts_has_none(storage: LocalStorage) -> None:
    assert read_cuts(storage) == []
    assert latest_cut(storage) is None
    assert cut_at(storage, gtid=f"{SERVER}:1") is None
    assert cut_at(storage, time=datetime.now(UTC)) is None


def test_of_two_writers_of_a_number_one_is_told_and_nothing_changes(storage: LocalStorage) -> None:
    assert CutStore(storage).put(cut(1))

    assert not CutStore(storage).put(cut(1, {"shop.a": A._replace(version=99)}))

    assert read_cuts(storage) == [cut(1)]


def test_tables_come_and_go_from_cut_to_cut(storage: LocalStorage) -> None:
    written = [
        cut(1, {"shop.a": A}),
        cut(2, {"shop.a": A, "shop.b": B}),
        cut(3, {"shop.b": B}),
        cut(4, {"shop.a": A._replace(generation="made again"), "shop.b": B}),
        cut(5, {}),
    ]

    store = CutStore(storage)
    for each in written:
        store.put(each)

    assert read_cuts(storage) == written


def test_a_base_stays_as_long_as_a_cut_needs_it(storage: LocalStorage) -> None:
    store = CutStore(storage)
    written = [cut(number) for number in range(1, 251)]
    for each in written:
        store.put(each)

    for number in range(1, 151):
        store.remove(number)
        store.remove_bases(number + 1)
        assert next(iter(CutStore(storage).read_all())) == written[number]

    assert read_cuts(storage) == written[150:]
    assert len(list(storage.list("_cdc/cut_tables"))) == 2


@pytest.mark.parametrize(
    ("gtid", "number"),
    [(f"{SERVER}:1", 1), (f"{SERVER}:4", 4), (f"{SERVER}:2-5", 5), (f"{SERVER.upper()}:3", 3)],
)
def test_the_first_cut_is_taken_that_has_the_transactions(
    storage: LocalStorage, gtid: str, number: int
) -> None:
    store = CutStore(storage)
    for each in range(1, 7):
        store.put(cut(each))

    assert cut_at(storage, gtid=gtid) == cut(number)


def test_no_cut_has_a_transaction_that_is_to_come(storage: LocalStorage) -> None:
    CutStore(storage).put(cut(1))

    assert cut_at(storage, gtid=f"{SERVER}:2") is None


def test_gtids_of_mariadb_are_compared_within_their_domain(storage: LocalStorage) -> None:
    store = CutStore(storage)
    for number in range(1, 5):
        store.put(cut(number, gtid=f"0-1-{number},1-1-7", flavour="mariadb"))

    found = cut_at(storage, gtid="0-1-3")

    assert found is not None
    assert found.number == 3
    assert cut_at(storage, gtid="2-1-1") is None


@pytest.mark.parametrize(
    ("gtid", "number"),
    [
        ("0-1-1001", 2),
        ("0-2-990", 1),
        # 0-2-991 may come after 0-1-1001, so the cuts 2 and 3 do not tell.
        ("0-2-991", 4),
        ("0-2-992", None),
        ("0-1-1002", None),
        ("0-2-991,1-1-1", None),
    ],
)
def test_numbers_of_two_servers_of_mariadb_do_not_say_what_a_cut_has(
    storage: LocalStorage, gtid: str, number: int | None
) -> None:
    """Without gtid_strict_mode, servers number the transactions of a domain independently."""
    store = CutStore(storage)
    for count, known in enumerate(("0-2-990", "0-1-1001", "0-1-1001", "0-2-991"), 1):
        store.put(cut(count, gtid=known, flavour="mariadb"))

    found = cut_at(storage, gtid=gtid)

    assert (None if found is None else found.number) == number


def test_a_text_that_is_no_gtid_is_refused(storage: LocalStorage) -> None:
    CutStore(storage).put(cut(1))

    with pytest.raises(ConfigError) as caught:
        cut_at(storage, gtid="binlog.000007:4")

    assert caught.value.text == (
        "'binlog.000007:4' is not a GTID, nor a set of GTIDs, of the source; give it as the server "
        "prints it: `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5` for MySQL, `0-1-42` for MariaDB"
    )


def test_the_last_cut_is_taken_that_is_not_after_a_time(storage: LocalStorage) -> None:
    store = CutStore(storage)
    for number in (2, 4, 6):
        store.put(cut(number))
    at = datetime.fromtimestamp(5, UTC)

    assert cut_at(storage, time=at) == cut(4)
    assert cut_at(storage, time=at.astimezone(timezone(timedelta(hours=9)))) == cut(4)
    assert cut_at(storage, time=at.replace(tzinfo=None)) == cut(4)
    assert cut_at(storage, time=datetime.fromtimestamp(4, UTC)) == cut(4)
    assert cut_at(storage, time=datetime.fromtimestamp(1, UTC)) is None


@pytest.mark.parametrize("folder", ["cuts", "cut_tables"])
def test_a_file_of_another_program_is_named(storage: LocalStorage, folder: str) -> None:
    CutStore(storage).put(cut(1))
    (name,) = (file.name for file in storage.list(f"_cdc/{folder}"))
    storage.write(f"_cdc/{folder}/{name}", b"[]")

    with pytest.raises(MirrorError) as caught:
        read_cuts(storage, "/data/mirror")

    assert caught.value.text == (
        f"/data/mirror/_cdc/{folder}/{name} is not a file that this job has written; look at it; "
        "if another program wrote it, remove it"
    )


def test_the_shards_of_a_cut_are_those_of_its_base(storage: LocalStorage) -> None:
    store = CutStore(storage)
    eu = {"shop.a": CutShards("region", ("eu",))}
    both = {"shop.a": CutShards("region", ("eu", "us"))}
    of = [{}, eu, eu, both]
    written = [replace(cut(n), shards=shards) for n, shards in enumerate(of, 1)]
    assert all(store.put(each) for each in written)
    assert read_cuts(storage) == written
    assert len(list(storage.list("_cdc/cut_tables"))) == 3
