"""Publishing by path goes on while a catalog is slow or silent, and the catalog catches up."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from pyiceberg.catalog.rest import RestCatalog as PyCatalog

from stream_jobs.errors import job_errors
from stream_jobs.iceberg import iceberg_errors
from stream_jobs.iceberg.catalog_login import CatalogAccess
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.metadata import current_id, tags
from stream_jobs.iceberg.rest_catalog import RestCatalog
from stream_jobs.run import catalog_queue, iceberg_publication
from stream_jobs.run.catalog_queue import CatalogQueue
from stream_jobs.run.publication_queue import PublicationQueue
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from tests.stream_jobs.catalog_server import WAREHOUSE
from tests.stream_jobs.iceberg.idle_tables import LIMITS, IdleMirror
from tests.stream_jobs.iceberg.lake import LOGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from connector.foundation.errors.code import ErrorCode
    from stream_jobs.errors import MirrorError
    from stream_jobs.iceberg.table_files import TableFiles
    from stream_jobs.run.publication_queue import TableFigures
    from tests.stream_jobs.catalog_server import CatalogServer, Proxy


class ListedMirror:
    """A mirror in a catalog, which answers when it may."""

    def __init__(self, server: CatalogServer, proxy: Proxy, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._namespace = folder.name.replace("-", "_").lower()
        self.proxy = proxy
        # Requests for which this is true wait until the catalog answers again.
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()

    def make(self, count: int, snapshots: int = 60) -> IdleMirror:
        def catalog(files: TableFiles) -> CatalogPublisher:
            access = CatalogAccess(self.proxy.url, WAREHOUSE, LOGIN)
            namespace = f"{self._namespace}.{{database}}"
            rest = RestCatalog(access)
            return CatalogPublisher(rest, files, namespace, replaces_foreign=False)

        limits = LIMITS._replace(snapshots=snapshots)
        self.mirror = IdleMirror(str(self._folder / "mirror"), count, catalog, limits)
        self.mirror.publication.finish()
        return self.mirror

    def silence(self, what: str = "") -> None:
        """Let requests with `what` wait."""
        self.answers.clear()
        self.asked.clear()

        def wait(asked: str) -> None:
            if what in asked:
                self.asked.set()
                self.answers.wait()

        self.proxy.own = wait

    def publish(self) -> float:
        """Publish what is new; return the seconds."""
        began = time.monotonic()
        self.mirror.publication.publish()
        return time.monotonic() - began

    def listed(self, number: int = 0) -> TableMetadata:
        """The table in the catalog."""
        token = self._server.token()
        catalog = PyCatalog("test", uri=self._server.url, warehouse=WAREHOUSE, token=token)
        found: Table = catalog.load_table((self._namespace, "shop", f"t{number}"))
        return found.metadata

    def by_path(self, number: int = 0) -> dict[str, Any]:
        head = self.mirror.files.load(f"shop/t{number}")
        assert head is not None
        return head.metadata

    def figures(self) -> TableFigures:
        return self.mirror.publication.queue.figures["shop.t0"]


@pytest.fixture
def listed(
    server: CatalogServer, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ListedMirror]:
    # All tables get the tag of each cut by path.
    monkeypatch.setattr(iceberg_publication, "TAGGING_SHARE", 1e9)
    mirror = ListedMirror(server, proxy, tmp_path)
    yield mirror
    mirror.answers.set()


def test_a_silent_catalog_does_not_hold_up_the_tables_by_path(listed: ListedMirror) -> None:
    mirror = listed.make(2)
    listed.silence()
    for version in range(1, 4):
        mirror.change()
        mirror.change(mirror.cut())
        assert listed.publish() < 5
        assert current_id(listed.by_path()) == version
        assert f"cut_{version}" in tags(listed.by_path(1))
    assert listed.asked.is_set()
    assert listed.figures().waiting_since is not None
    assert listed.listed().current_snapshot_id == 0
    listed.answers.set()
    mirror.publication.finish()
    assert listed.listed().current_snapshot_id == 3
    assert listed.figures().waiting_since is None
    assert not mirror.publication.queue.problems


def test_what_a_catalog_is_just_getting_does_not_go(listed: ListedMirror) -> None:
    mirror = listed.make(1, snapshots=1)
    made = listed.listed().table_uuid
    listed.silence("POST")
    mirror.change()
    listed.publish()
    assert listed.asked.wait(10)
    for _ in range(3):
        mirror.change()
        listed.publish()
    listed.answers.set()
    mirror.publication.finish()
    assert listed.listed().current_snapshot_id == 4
    # It went on from the snapshot that it was getting.
    assert listed.listed().table_uuid == made
    assert not [asked for asked in listed.proxy.asked if asked.startswith("DELETE")]
    # When it gets nothing, the others go.
    mirror.change()
    mirror.publication.finish()
    mirror.change()
    mirror.publication.finish()
    assert len(listed.by_path()["snapshots"]) <= 2


def test_a_catalog_gets_tags_some_at_a_time_and_in_a_part_of_the_time(
    listed: ListedMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_queue, "_TAGGED_MAX", 2)
    mirror = listed.make(5)
    before = len(listed.proxy.commits())
    mirror.change(mirror.cut())
    mirror.publication.finish()
    transactions = ["POST /v1/warehouse/transactions/commit"] * 2
    found = listed.proxy.commits()[before:]
    assert found[:2] == transactions
    # One is left over.
    assert len(found) == 3
    assert "/tables/t" in found[2]
    assert all("cut_1" in listed.listed(number).refs for number in range(5))
    # As if that had taken minutes; a table that has changed does not wait for it.
    monkeypatch.setattr(catalog_queue, "TAGGING_SHARE", 1e-6)
    mirror.change(mirror.cut())
    mirror.publication.finish()
    before = len(listed.proxy.commits())
    mirror.change()
    mirror.change(mirror.cut())
    listed.publish()
    ends_at = time.monotonic() + 30
    while "cut_3" not in listed.listed(0).refs:
        assert time.monotonic() < ends_at
        time.sleep(0.1)
    assert "cut_3" not in listed.listed(1).refs
    assert len(listed.proxy.commits()) == before + 1
    mirror.publication.finish()
    assert "cut_3" in listed.listed(1).refs


def test_a_silent_catalog_does_not_keep_the_snapshots_that_it_will_never_get(
    listed: ListedMirror,
) -> None:
    mirror = listed.make(1, snapshots=2)
    mirror.change()
    mirror.publication.finish()
    listed.silence()
    for _ in range(20):
        mirror.change()
        listed.publish()
    assert listed.asked.wait(10)
    # The last two, the one that the catalog has, and the one that it may get.
    assert len(listed.by_path()["snapshots"]) <= 4
    assert 1 in {entry["snapshot-id"] for entry in listed.by_path()["snapshots"]}


def test_a_catalog_that_does_not_answer_is_asked_for_some_of_many_tags(
    listed: ListedMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_queue, "_TAGGED_MAX", 1)
    # What takes a second counts for days.
    monkeypatch.setattr(catalog_queue, "TAGGING_SHARE", 1e-6)
    mirror = listed.make(5)
    listed.proxy.reaches = lambda _: False
    before = len(listed.proxy.asked)
    mirror.change(mirror.cut())
    mirror.publication.finish()
    assert len(listed.proxy.asked) == before + 1
    listed.proxy.reaches = lambda _: True
    ends_at = time.monotonic() + 30
    while not all("cut_1" in listed.listed(number).refs for number in range(5)):
        assert time.monotonic() < ends_at
        listed.publish()
        time.sleep(0.1)


def test_a_job_that_fails_asks_a_catalog_for_nothing_more(listed: ListedMirror) -> None:
    mirror = listed.make(1)
    before = len(listed.proxy.commits())
    listed.silence()
    mirror.change()
    listed.publish()
    assert listed.asked.wait(10)
    mirror.change()
    listed.publish()
    mirror.publication.stop()
    listed.answers.set()
    ends_at = time.monotonic() + 30
    while any(thread.name == "catalog" for thread in threading.enumerate()):
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    assert len(listed.proxy.commits()) == before
    assert listed.listed().current_snapshot_id == 0


class OddPublisher(CatalogPublisher):
    """One that ends with an error, or with none."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.published: list[str] = []

    def publish(
        self, tables: Mapping[str, tuple[str, str]], pool: ThreadPoolExecutor
    ) -> dict[str, MirrorError | None]:
        assert pool is not None
        if self.error is not None:
            raise self.error
        self.published += tables
        return dict.fromkeys(tables)


ORDERS = TableSchema("shop", "orders", "a", PackedSequence(0, 0), ())


@pytest.mark.parametrize("is_only_tagged", [False, True])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (IndexError("odd"), job_errors.TABLE_DEFECT),
        (RuntimeError("can't start new thread"), iceberg_errors.TURN_FAILED),
        (MemoryError(), iceberg_errors.TURN_FAILED),
    ],
)
def test_an_error_without_a_code_is_a_problem_of_the_tables_and_they_wait(
    error: Exception, code: ErrorCode, *, is_only_tagged: bool
) -> None:
    publisher, known = OddPublisher(), PublicationQueue()
    queue = CatalogQueue(publisher, known, 1, lambda: True)
    publisher.error = error
    queue.add("shop/orders", ORDERS, is_only_tagged=is_only_tagged)
    queue.go_on(is_last=True)
    assert known.problems["shop.orders"].code is code
    assert known.figures["shop.orders"].waiting_since is not None
    publisher.error = None
    queue.go_on(is_last=True)
    assert publisher.published == ["shop/orders"]
    assert not known.problems


def test_a_process_that_another_one_has_followed_asks_a_catalog_for_nothing() -> None:
    publisher = OddPublisher()
    queue = CatalogQueue(publisher, PublicationQueue(), 1, lambda: False)
    queue.add("shop/orders", ORDERS)
    queue.go_on(is_last=True)
    assert publisher.published == []


def test_a_thread_that_the_machine_does_not_start_is_started_by_the_next_turn() -> None:
    publisher = OddPublisher()
    queue = CatalogQueue(publisher, PublicationQueue(), 1, lambda: True)
    queue.add("shop/orders", ORDERS)
    with (
        patch.object(threading.Thread, "start", side_effect=RuntimeError),
        pytest.raises(RuntimeError),
    ):
        queue.go_on()
    queue.go_on(is_last=True)
    assert publisher.published == ["shop/orders"]
