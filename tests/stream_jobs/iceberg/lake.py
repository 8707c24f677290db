"""Tables of a mirror in a REST catalog: SeaweedFS is the catalog, others read from it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.rest import RestCatalog as PyCatalog

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.catalog_login import CatalogAccess, CatalogLogin, Signer
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.rest_catalog import RestCatalog
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from tests.stream_jobs.catalog_server import KEY, SECRET, WAREHOUSE, Proxy
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.readers import delta_rs_rows, sorted_rows
from tests.stream_jobs.iceberg.table_story import Published

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import Table

    from tests.stream_jobs.catalog_server import CatalogServer

LOGIN = CatalogLogin(client_id=KEY, client_secret=SECRET, scope="catalog")


class Lake:
    """A mirror of some tables, their catalog, and readers of it."""

    def __init__(self, server: CatalogServer, proxy: Proxy, folder: Path, count: int) -> None:
        self.server = server
        self.proxy = proxy
        self.folder = folder
        self.storage = LocalStorage(str(folder))
        self.namespace = folder.parent.name.replace("-", "_").lower()
        names = [f"t{number}" for number in range(count)]
        self.samples = [Sample(self.storage, f"shop/{name}") for name in names]
        self.published = [Published(self.storage, sample.path) for sample in self.samples]
        self.restart()

    def restart(self, *, replaces_foreign: bool = False, signer: Signer | None = None) -> None:
        """Begin as another process does."""
        login = LOGIN if signer is None else CatalogLogin()
        catalog = RestCatalog(CatalogAccess(self.proxy.url, WAREHOUSE, login, signer))
        files = TableFiles(self.storage, reader_uri(self.storage.root))
        self.publisher = CatalogPublisher(
            catalog, files, f"lake.{self.namespace}_{{database}}", replaces_foreign=replaces_foreign
        )
        for published in self.published:
            published.restart()

    def publish(self, **facts: Any) -> list[MirrorError | None]:
        """Publish all tables by path, and then in the catalog."""
        for sample, published in zip(self.samples, self.published, strict=True):
            with self.publisher.states.publishing(sample.path) as held:
                published.publish(sample.table, held=held, **facts)
        return self.commit()

    def commit(self) -> list[MirrorError | None]:
        names = {sample.path: ("shop", sample.path[5:]) for sample in self.samples}
        with ThreadPoolExecutor(4) as pool:
            found = self.publisher.publish(names, pool)
        return [found[sample.path] for sample in self.samples]

    def catalog(self) -> PyCatalog:
        return PyCatalog(
            "test",
            uri=self.server.url,
            warehouse=WAREHOUSE,
            token=self.server.token(),
            **{
                "s3.endpoint": self.server.s3,
                "s3.access-key-id": KEY,
                "s3.secret-access-key": SECRET,
                "s3.region": "us-east-1",
            },
        )

    def read(self, number: int = 0) -> Table:
        found: Table = self.catalog().load_table(("lake", f"{self.namespace}_shop", f"t{number}"))
        return found

    def agree(self, number: int = 0) -> int:
        """Compare what the catalog's readers see with delta-rs; return the number of rows."""
        table = self.read(number)
        rows = delta_rs_rows(self.published[number].delta)
        assert sorted_rows(table.scan().to_arrow()) == rows
        assert table.metadata.current_snapshot_id == self.samples[number].table.snapshot.version
        return len(rows)


def refused(problem: MirrorError | None) -> str:
    assert problem is not None
    return str(problem)
