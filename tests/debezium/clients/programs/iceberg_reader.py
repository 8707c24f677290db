"""iceberg_reader.py WAREHOUSE TABLE...: prints all rows of tables as JSON, a line for each table.

It runs in an environment of its own. A table is a folder of the Hadoop catalog, as `shop/numbers`.
Bytes become hexadecimal text, decimals their digits.
"""

import json
import sys
from decimal import Decimal
from pathlib import Path

from pyiceberg.table import StaticTable


def plain(value: object) -> str:
    """Return a value that JSON does not have."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


def main() -> None:
    """Read the newest snapshot of each table."""
    warehouse, *tables = sys.argv[1:]
    for table in tables:
        folder = Path(warehouse) / table / "metadata"
        version = (folder / "version-hint.text").read_text().strip()
        metadata = StaticTable.from_metadata(str(folder / f"v{version}.metadata.json"))
        print(json.dumps(metadata.scan().to_arrow().to_pylist(), default=plain))


if __name__ == "__main__":
    main()
