"""The snapshots that a catalog has or may have."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.iceberg.catalog_states import CatalogStates, Kept
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.table_story import Published

if TYPE_CHECKING:
    from pathlib import Path


def held(states: CatalogStates, path: str) -> set[int]:
    with states.publishing(path) as found:
        return set(found)


def test_what_a_catalog_gets_is_read_while_no_snapshot_goes(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    published = Published(storage, sample.path, snapshots=1)
    published.publish(sample.table)
    states = CatalogStates(published.files)
    thread = threading.Thread(target=states.load, args=(sample.path,))
    with states.publishing(sample.path) as found:
        assert found == {0}
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        sample.append([1])
        published.publish(sample.table, held=found)
    thread.join()
    assert held(states, sample.path) == {0, 1}
    # It is not sent.
    states.settle(sample.path)
    assert held(states, sample.path) == {0}
    states.load(sample.path)
    states.send(sample.path)
    states.settle(sample.path)
    assert held(states, sample.path) == {0, 1}
    states.learn(sample.path, Kept(0, published.at))
    assert held(states, sample.path) == {0}
    states.load(sample.path)
    states.confirm(sample.path)
    states.settle(sample.path)
    assert held(states, sample.path) == {1}


def test_a_catalog_that_has_never_answered_may_have_what_was_there_first(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t")
    published = Published(storage, sample.path)
    published.publish(sample.table)
    states = CatalogStates(published.files)
    states.load(sample.path)
    states.settle(sample.path)
    sample.append([1])
    published.publish(sample.table)
    assert held(states, sample.path) == {0}
