"""`python -m tests.stream_jobs.iceberg.idle_tables`: what a turn of the publication costs.

A mirror has many tables, of which one changes between two turns. The turn must cost the same with
100 and with 10,000 of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa

from connector.foundation.contract import Sequence
from stream_jobs.cuts.cut import Cut, CutTable
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import PipelineFolder
from stream_jobs.run.iceberg_publication import IcebergPublication, PublicationLimits
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.schema_rules import SchemaRules
from stream_jobs.tables.table_options import TableOptionsResolver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_jobs.iceberg.catalog_publisher import CatalogPublisher

_TURNS: Final = 30
_HOUR_MS: Final = 3_600_000
_COLUMN: Final = {"name": "id", "type": "bigint", "nullable": False, "key": 1}
LIMITS: Final = PublicationLimits(snapshots=60, cuts_ms=6 * _HOUR_MS, threads=2)


class KnownSchemas(SchemaRegistry):
    """The schemas of tables whose topics are not read here."""

    def __init__(self, count: int, choices: TableOptionsResolver) -> None:
        super().__init__(cast("Any", None), "p", choices=choices)
        self._records = [
            json.dumps(
                {
                    "schema_id": "0123456789abcdef",
                    "database": "shop",
                    "table": f"t{number}",
                    "seq": str(Sequence(1, 1, number + 1, 1, 0)),
                    "columns": [_COLUMN],
                }
            ).encode()
            for number in range(count)
        ]

    def _new_values(self) -> Iterator[bytes]:
        records, self._records = self._records, []
        yield from records


class IdleMirror:
    """A mirror of `count` published tables, and the turns of its publication."""

    def __init__(
        self,
        root: str,
        count: int,
        catalog: Callable[[TableFiles], CatalogPublisher] | None = None,
        limits: PublicationLimits = LIMITS,
    ) -> None:
        choices = TableOptionsResolver([], formats=["delta", "iceberg"])
        registry = KnownSchemas(count, choices)
        storage = LocalStorage(root)
        rules = SchemaRules(registry, root, "null", "null")
        folder = PipelineFolder(storage, root)
        services = MirrorContext(
            storage, root, cast("Any", None), rules, {}, folder, accept_partitions=False
        )
        columns = new_columns([("id", pa.int64(), {})])
        self._storage = storage
        self._generations = {
            f"shop.t{number}": DeltaTable.create(
                storage, f"shop/t{number}", Metadata(columns)
            ).snapshot.metadata.table_id
            for number in range(count)
        }
        self.files = TableFiles(storage, reader_uri(root))
        publisher = None if catalog is None else catalog(self.files)
        self._given = services, choices, limits, self.files, publisher
        self.restart()
        self.publication.publish()
        assert not self.publication.queue.problems
        found = DeltaTable.open(storage, "shop/t0")
        assert found is not None
        self._changed = found
        (self._schema,) = registry.history("p.shop.t0")
        self._cuts = 0

    def restart(self, last_cut: Cut | None = None) -> None:
        """Begin as another process does, after one that has written `last_cut`."""
        self.publication = IcebergPublication(*self._given, last_cut=last_cut)

    def change(self, cut: Cut | None = None) -> None:
        """Insert a row into one table, and tell the publication, as the driver does."""
        table = self._changed
        if cut is None:
            data = pa.table({"id": pa.array([1], pa.int64())})
            columns = table.snapshot.metadata.file_columns
            file = write_file(self._storage, table.path, columns, data, key=["id"])
            table.commit(TableCommit(new=[file]), "WRITE")
            self.publication.queue.note([(table.path, self._schema, table.snapshot)])
        else:
            self.publication.queue.note([], cut)

    def turn_ms(self) -> float:
        """Return the CPU time of a turn, in milliseconds."""
        began = time.process_time()
        self.publication.publish()
        return (time.process_time() - began) * 1000

    def cut(self) -> Cut:
        """Return a cut of all tables as they are."""
        self._cuts += 1
        version = self._changed.snapshot.version
        tables = {
            name: CutTable(name.replace(".", "/"), version if name == "shop.t0" else 0, own)
            for name, own in self._generations.items()
        }
        at = int(time.time() * 1000)
        seq = str(self._cuts).zfill(38)
        return Cut(seq, "mysql", None, f"f:{self._cuts}", at, at, tables, {}, self._cuts)


def report(count: int) -> str:
    """Return what turns cost with `count` tables, for people."""
    with tempfile.TemporaryDirectory(prefix="idle-tables-") as root:
        mirror = IdleMirror(root, count)
        changed = []
        for _ in range(_TURNS):
            mirror.change()
            changed.append(mirror.turn_ms())
        idle = statistics.median(mirror.turn_ms() for _ in range(_TURNS))
        mirror.change(mirror.cut())
        tagging = mirror.turn_ms()
        at_cut = []
        for _ in range(_TURNS):
            mirror.change()
            mirror.change(mirror.cut())
            at_cut.append(mirror.turn_ms())
    return (
        f"{count:,} tables, CPU of a turn: {statistics.median(changed):.2f} ms if one has changed, "
        f"{idle:.3f} ms if none has; at cuts {statistics.median(at_cut):.2f} ms; "
        f"{tagging:.0f} ms where all get the tag of a cut ({tagging / count:.2f} ms a table)"
    )


def main() -> int:
    """Tell what turns cost with few tables and with many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[100, 10_000])
    for count in parser.parse_args().tables:
        print(report(count), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
