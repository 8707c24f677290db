"""Puffin files: the deletion vectors of a snapshot, for Iceberg's readers.

```
file    magic, blobs, magic, footer (JSON), its size (4, little endian), flags (4), magic
blob    size of the vector (4, big endian), vector, CRC32 of the vector (4, big endian)
```

The bytes of a vector are those of Delta.

https://iceberg.apache.org/puffin-spec/
"""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

import orjson

_MAGIC: Final = b"PFA1"
# The id of the column `_pos`.
_POSITION: Final = 2147483645


class Vector(NamedTuple):
    """The dead rows of a data file."""

    uri: str  # of the data file
    content: bytes
    cardinality: int


def vector_of(blob: bytes) -> bytes:
    """Return the vector of a blob; raises ValueError for other bytes."""
    content = blob[4:-4]
    if blob != _blob(content):
        raise ValueError(blob[:4])
    return content


def _blob(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content + struct.pack(">I", crc32(content))


class BlobPlace(NamedTuple):
    """Where a blob is in its file."""

    offset: int
    length: int


def puffin_file(vectors: Iterable[Vector]) -> tuple[bytes, list[BlobPlace]]:
    """Return a file with `vectors`, and the place of each."""
    out, places, blobs = bytearray(_MAGIC), [], []
    for uri, content, cardinality in vectors:
        place = BlobPlace(len(out), len(content) + 8)
        out += _blob(content)
        places.append(place)
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [_POSITION],
                # Vectors inherit both.
                "snapshot-id": -1,
                "sequence-number": -1,
                **place._asdict(),
                "properties": {"referenced-data-file": uri, "cardinality": str(cardinality)},
            }
        )
    footer = orjson.dumps({"blobs": blobs, "properties": {"created-by": "binlog-connector"}})
    out += _MAGIC + footer + struct.pack("<i4x", len(footer)) + _MAGIC
    return bytes(out), places
