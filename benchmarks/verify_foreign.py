"""Copies of `orders` as other programs write them, for `verify --table`.

One is what a recipe makes of Debezium's records: a Delta table with decimals and bytes in base64,
and times as numbers and texts. The other one is a folder of Parquet files that has a type for each
value.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake
from pyarrow import parquet

from stream_jobs.delta.parquet_file import rows_at
from verification.mirror_side import live_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stream_jobs.delta.table import DeltaTable

_ROWS_OF_A_FILE: Final = 500_000


def mirrored_rows(table: DeltaTable, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of a mirror, a file at a time, with these columns."""
    columns = [column for column in table.snapshot.columns if column.name in names]
    for file, positions in live_positions(table.storage, table.path, table.snapshot, ["id"]):
        yield rows_at(table.storage, table.path, file, columns, positions)


def write_copies(rows: Iterator[pa.Table], folder: Path) -> dict[str, str]:
    """Write both copies; return what `--table` calls the targets."""
    delta, files = folder / "debezium", folder / "typed"
    files.mkdir(parents=True)
    count = 0
    for data in rows:
        for start in range(0, len(data), _ROWS_OF_A_FILE):
            some = data.slice(start, _ROWS_OF_A_FILE)
            parquet.write_table(some, files / f"{count}.parquet")
            write_deltalake(delta, _debezium(some), mode="append")
            count += 1
    return {"foreign_debezium": f"delta:{delta}", "foreign_typed": f"parquet:{files}"}


def _debezium(rows: pa.Table) -> pa.Table:
    """Return rows in the forms that Debezium's JSON has by default."""
    columns: dict[str, Any] = {name: rows[name] for name in rows.column_names}
    columns["price"] = [_unscaled(price) for price in rows["price"].to_pylist()]
    columns["ordered"] = pc.cast(rows["ordered"].cast(pa.timestamp("ms")), pa.int64())
    changed = rows["changed"].cast(pa.timestamp("ms", "UTC"))
    columns["changed"] = pc.strftime(changed, "%Y-%m-%dT%H:%M:%SZ")
    columns["day"] = pc.cast(rows["day"], pa.int32())
    columns["flag"] = pc.cast(rows["flag"], pa.int16())
    columns["token"] = [
        None if token is None else base64.b64encode(token).decode()
        for token in rows["token"].to_pylist()
    ]
    columns["__deleted"] = ["false"] * len(rows)
    return pa.table(columns)


def _unscaled(price: Any) -> str | None:
    if price is None:
        return None
    number = int(price.scaleb(2))
    data = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return base64.b64encode(data).decode()
