"""Damage to a mirror, as a mistake of another program: one value of one row is changed."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from connector.errors import CommitConflict
from local_stack.demo.shop import DATABASE
from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.local_storage import LocalStorage
from stream_jobs.delta.parquet_file import live_mask, rows_at, write_file
from stream_jobs.delta.table import Change, DeltaTable

if TYPE_CHECKING:
    from pathlib import Path

TABLE: Final = "products"
KEY: Final = "sku"
COLUMN: Final = "price"
_CENT: Final = Decimal("0.01")


def damage(mirror: Path) -> tuple[str, Decimal, Decimal]:
    """Make one product of the `mirror` a cent dearer; return its key, the old and the new price.

    Neither the job nor its topics know of it. The shop always has products.
    """
    storage = LocalStorage(str(mirror))
    table = DeltaTable.open(storage, f"{DATABASE}/{TABLE}")
    assert table is not None
    while True:
        file = next(iter(table.snapshot.files.values()))
        positions = np.arange(file.rows, dtype=np.int64)
        if file.deletion_vector is not None:
            dead = deletion_vectors.load(storage, table.path, file.deletion_vector)
            positions = positions[live_mask(dead, file.rows)]
        columns = table.snapshot.metadata.file_columns
        row = rows_at(storage, table.path, file, columns, positions[:1])
        (key,), (price,) = row[KEY].to_pylist(), row[COLUMN].to_pylist()
        place = row.column_names.index(COLUMN)
        wrong = pa.array([price + _CENT], row[COLUMN].type)
        new = write_file(storage, table.path, columns, row.set_column(place, COLUMN, wrong))
        gone = BitMap([int(positions[0])]).serialize()
        try:
            table.commit(Change(new=[new], dead={file.path: gone}), "MISTAKE")
        except CommitConflict:
            # The job has compacted files meanwhile.
            table.refresh()
            continue
        return key, price, price + _CENT
