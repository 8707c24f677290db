"""Deletion vectors: the positions of dead rows, as a Roaring bitmap for each data file.

Small ones are within the log, as Z85 text; all others of a commit are together in one `.bin`
file.

```
file    version 1 (1 byte), then for each vector:
        size of the vector (4, big endian), vector, CRC32 of the vector (4, big endian)
vector  magic 1681511377 (4, little endian), number of bitmaps (8), then for each bitmap:
        the upper 32 bits of its positions (4), a bitmap of the lower 32 bits
```

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#deletion-vector-format
https://github.com/RoaringBitmap/RoaringFormatSpec
https://rfc.zeromq.org/spec/32/
"""

import struct
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from pyroaring import BitMap

from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_WORD_MAX = 0xFFFFFFFF


def encode_z85(content: bytes) -> str:
    """Return the text of `content`, whose length is a multiple of four."""
    digits = []
    for (word,) in struct.iter_unpack(">I", content):
        digits += [_DIGITS[word // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(digits)


def decode_z85(text: str) -> bytes:
    """Return the bytes of `text`; raises ValueError if it is not Z85."""
    if len(text) % 5 or not _VALUES.keys() >= set(text):
        raise ValueError(text)
    content = bytearray()
    for start in range(0, len(text), 5):
        word = 0
        for digit in text[start : start + 5]:
            word = word * 85 + _VALUES[digit]
        if word > _WORD_MAX:
            raise ValueError(text)
        content += struct.pack(">I", word)
    return bytes(content)


_MAGIC = 1681511377
_HEAD = struct.Struct("<iqI")  # with the upper bits of the only bitmap
_UUID_CHARACTERS = 20
# Bytes of all vectors of a commit that their descriptors can hold, instead of a file. A small batch
# writes half as many files then, and leaves half as many for vacuum.
WITHIN_MAX = 2048


class DeletionVector(NamedTuple):
    """Where the positions of a file's dead rows are, and how many there are."""

    kind: str  # `u`: a file of the table with a random name; `i`: within the descriptor
    text: str
    offset: int | None  # of the size field in the file
    size: int  # of the vector, in bytes
    cardinality: int

    @classmethod
    def of_json(cls, fields: dict[str, Any]) -> "DeletionVector":
        """Read the field `deletionVector` of an action."""
        return cls(
            fields["storageType"],
            fields["pathOrInlineDv"],
            fields.get("offset"),
            fields["sizeInBytes"],
            fields["cardinality"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the field `deletionVector` of an action."""
        fields = {"storageType": self.kind, "pathOrInlineDv": self.text, "offset": self.offset}
        if self.offset is None:
            del fields["offset"]
        return fields | {"sizeInBytes": self.size, "cardinality": self.cardinality}

    @property
    def unique_id(self) -> str:
        """What distinguishes this vector from every other of the table."""
        end = "" if self.offset is None else f"@{self.offset}"
        return f"{self.kind}{self.text}{end}"

    @property
    def path(self) -> str | None:
        """The path of the file, relative to the table; None if there is none.

        Raises ValueError if the descriptor is not one.
        """
        if self.kind != "u":
            return None
        prefix, name = self.text[:-_UUID_CHARACTERS], self.text[-_UUID_CHARACTERS:]
        file = f"deletion_vector_{uuid.UUID(bytes=decode_z85(name))}.bin"
        return f"{prefix}/{file}" if prefix else file


class VectorFile:
    """A `.bin` file that is not written yet."""

    def __init__(self) -> None:
        self._id = uuid.uuid4()
        self.content = bytearray(b"\x01")

    def add(self, vector: bytes, cardinality: int) -> DeletionVector:
        """Append a vector."""
        offset = len(self.content)
        self.content += struct.pack(">I", len(vector)) + vector
        self.content += struct.pack(">I", crc32(vector))
        name = encode_z85(self._id.bytes)
        return DeletionVector("u", name, offset, len(vector), cardinality)

    def write(self, storage: Storage, table: str) -> None:
        """Write the file into the folder of the table."""
        storage.write(f"{table}/deletion_vector_{self._id}.bin", memoryview(self.content))


def store(storage: Storage, table: str, dead: Sequence[BitMap]) -> list[DeletionVector]:
    """Return descriptors of vectors for one commit, and write their file if they need one."""
    vectors = [(encode(positions), len(positions)) for positions in dead]
    if sum(len(vector) for vector, _ in vectors) <= WITHIN_MAX:
        return [_within(vector, cardinality) for vector, cardinality in vectors]
    file = VectorFile()
    stored = [file.add(vector, cardinality) for vector, cardinality in vectors]
    file.write(storage, table)
    return stored


def _within(vector: bytes, cardinality: int) -> DeletionVector:
    padded = vector + bytes(-len(vector) % 4)
    return DeletionVector("i", encode_z85(padded), None, len(vector), cardinality)


def encode(positions: BitMap) -> bytes:
    """Return the bytes of a vector."""
    positions.run_optimize()
    return _HEAD.pack(_MAGIC, 1, 0) + positions.serialize()


def decode(vector: bytes) -> BitMap:
    """Return the positions of a vector; raises ValueError for other bytes."""
    if vector == struct.pack("<iq", _MAGIC, 0):
        return BitMap()
    # A file has fewer than 2 ** 32 rows, so there is one bitmap.
    if vector[: _HEAD.size] != _HEAD.pack(_MAGIC, 1, 0):
        raise ValueError(vector[: _HEAD.size])
    return BitMap.deserialize(vector[_HEAD.size :])


def load(storage: Storage, table: str, vector: DeletionVector) -> BitMap:
    """Return the positions that a descriptor in the log of the table at `table` names.

    Raises MirrorError if the file is missing or damaged.
    """
    try:
        positions = decode(_stored(storage, table, vector))
    except (ValueError, struct.error) as error:
        raise _damaged(table, vector) from error
    if len(positions) != vector.cardinality:
        raise _damaged(table, vector)
    return positions


def read(storage: Storage, table: str, vector: DeletionVector) -> bytes:
    """Return the bytes of a vector; raises MirrorError as `load`."""
    try:
        return _stored(storage, table, vector)
    except ValueError as error:
        raise _damaged(table, vector) from error


def _stored(storage: Storage, table: str, vector: DeletionVector) -> bytes:
    """Return the bytes of a vector; raises ValueError if they have another size or checksum."""
    if vector.kind == "i":
        return decode_z85(vector.text)[: vector.size]
    path = vector.path
    if path is None:
        raise _damaged(table, vector)
    part = storage.read_part(f"{table}/{path}", vector.offset or 0, vector.size + 8)
    if part is None:
        raise MirrorError(delta_errors.FILE_MISSING, file=f"{table}/{path}")
    content = part[4:-4]
    if part != struct.pack(">I", vector.size) + content + struct.pack(">I", crc32(content)):
        raise ValueError(part[:4])
    return content


def _damaged(table: str, vector: DeletionVector) -> MirrorError:
    try:
        name = vector.path or vector.text
    except ValueError:
        name = vector.text
    return MirrorError(
        delta_errors.VECTOR_DAMAGED, file=f"{table}/{name}", offset=vector.offset or 0
    )
