"""What is known of tables whose readers by path and in a catalog are not equally far."""

from __future__ import annotations

import pyarrow as pa

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors, iceberg_errors
from stream_jobs.run.publication_queue import PublicationQueue
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema

ORDERS = TableSchema("shop", "orders", "a", PackedSequence(0, 0), ())
REFUSAL = MirrorError(iceberg_errors.ELEMENTS_WITHOUT_ID, path="shop/orders", column="a")
AWAY = MirrorError(catalog_errors.AWAY, catalog="c", doing="GET /", why="refused")


def test_success_in_a_catalog_does_not_hide_a_refusal_by_path() -> None:
    queue = PublicationQueue()
    assert queue.failed(ORDERS, REFUSAL)
    queue.listed(ORDERS, None)
    assert queue.is_refused(ORDERS)
    assert queue.problems["shop.orders"].code is iceberg_errors.ELEMENTS_WITHOUT_ID
    assert queue.figures["shop.orders"].code == "M812"
    # Nor does a failure there.
    queue.not_listed(ORDERS, AWAY, 1.0)
    assert queue.is_refused(ORDERS)
    assert queue.figures["shop.orders"].code == "M812"
    assert queue.figures["shop.orders"].failures == 2
    queue.published("shop/orders", ORDERS)
    assert queue.figures["shop.orders"].code == "M815"
    assert queue.figures["shop.orders"].waiting_since == 1.0


def test_a_version_that_is_being_published_waits_while_a_catalog_gets_an_earlier_one(
    tmp_path: object,
) -> None:
    queue = PublicationQueue()
    columns = new_columns([("id", pa.int64(), {})])
    table = DeltaTable.create(LocalStorage(str(tmp_path)), "shop/orders", Metadata(columns))
    queue.note([("shop/orders", ORDERS, table.snapshot)])
    (version,) = queue.take()[0].values()
    queue.listed(ORDERS, None)
    assert queue.figures["shop.orders"].waiting_since == version.since
    queue.unlisted(ORDERS, version.since)
    queue.published("shop/orders", ORDERS)
    assert queue.figures["shop.orders"].waiting_since == version.since
    queue.listed(ORDERS, None)
    assert queue.figures["shop.orders"].waiting_since is None
