"""A catalog, a proxy before it, and mirrors in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream_jobs.catalog_server import Proxy, serve_catalog
from tests.stream_jobs.iceberg.lake import Lake
from tests.stream_jobs.iceberg.readers import DuckDB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stream_jobs.catalog_server import CatalogServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogServer]:
    yield from serve_catalog(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


@pytest.fixture
def proxy(server: CatalogServer) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def lake(server: CatalogServer, proxy: Proxy, tmp_path: Path) -> Lake:
    return Lake(server, proxy, tmp_path / "mirror", 1)


@pytest.fixture
def pair(server: CatalogServer, proxy: Proxy, tmp_path: Path) -> Lake:
    return Lake(server, proxy, tmp_path / "mirror", 2)
