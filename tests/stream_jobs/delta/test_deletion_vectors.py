"""Deletion vectors: ours against those that Spark wrote, and damaged ones."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.deletion_vectors import DeletionVector, VectorFile
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError

# Each has a descriptor of Spark's and the ranges of its positions: start, end, step.
GOLDEN = Path(__file__).parent / "golden"
CASES: list[dict[str, Any]] = json.loads((GOLDEN / "vectors.json").read_text())


def positions(case: dict[str, Any]) -> BitMap:
    found = BitMap()
    for start, end, step in case["ranges"]:
        found |= BitMap(range(start, end, step))
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_vector_of_spark_has_its_positions_and_our_bytes(case: dict[str, Any]) -> None:
    vector = DeletionVector.of_json(case["descriptor"])
    assert vector.to_json() == case["descriptor"]
    assert vector.path is not None
    storage = LocalStorage(str(GOLDEN.parent))
    expected = positions(case)
    assert deletion_vectors.load(storage, "golden", vector) == expected
    content = (GOLDEN / vector.path).read_bytes()
    assert vector.offset is not None
    start = vector.offset + 4
    assert deletion_vectors.encode(expected) == content[start : start + vector.size]


def test_a_file_of_vectors_has_the_bytes_of_sparks() -> None:
    cases = [case for case in CASES if case["name"].startswith("shared")]
    assert len(cases) == 2
    content = (GOLDEN / str(DeletionVector.of_json(cases[0]["descriptor"]).path)).read_bytes()
    file = VectorFile()
    for case in sorted(cases, key=lambda case: case["descriptor"]["offset"]):
        vector = deletion_vectors.encode(positions(case))
        assert file.add(vector, 1).offset == case["descriptor"]["offset"]
    assert bytes(file.content) == content


@given(st.sets(st.integers(0, 2**32 - 1)))
def test_positions_survive(found: set[int]) -> None:
    assert deletion_vectors.decode(deletion_vectors.encode(BitMap(found))) == BitMap(found)


def test_small_vectors_are_within_their_descriptors(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    for dead in (BitMap([1]), BitMap([1, 2, 70_000]), BitMap(range(5, 9000))):
        (vector,) = deletion_vectors.store(storage, "t", [dead])
        assert (vector.kind, vector.path, vector.cardinality) == ("i", None, len(dead))
        assert "offset" not in vector.to_json()
        assert deletion_vectors.load(storage, "t", vector) == dead
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_are_large_together_are_in_one_file(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    dead = [BitMap([1]), BitMap(range(0, 3000, 3))]
    vectors = deletion_vectors.store(storage, "t", dead)
    assert [deletion_vectors.load(storage, "t", vector) for vector in vectors] == dead
    assert {vector.path for vector in vectors} == {p.name for p in (tmp_path / "t").iterdir()}
    assert deletion_vectors.store(storage, "t", []) == []


def test_a_vector_without_positions_is_read() -> None:
    assert deletion_vectors.decode(struct.pack("<iq", 1681511377, 0)) == BitMap()


def test_a_prefix_is_the_folder_of_a_file() -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
    assert vector.path == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert vector.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"


def test_a_damaged_file_is_an_error_at_every_byte(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    file = VectorFile()
    vector = file.add(deletion_vectors.encode(BitMap([1, 5, 9])), 3)
    file.write(storage, "t")
    path = tmp_path / "t" / str(vector.path)
    content = path.read_bytes()
    assert deletion_vectors.load(storage, "t", vector) == BitMap([1, 5, 9])
    for place in range(1, len(content)):  # the version of the file is not read
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        for wrong in (bytes(damaged), content[:place]):
            path.write_bytes(wrong)
            with pytest.raises(MirrorError) as error:
                deletion_vectors.load(storage, "t", vector)
            assert str(error.value) == (
                f"[M518] t/{vector.path}: the deletion vector at byte 1 is not what the log says; "
                "restore the file from a backup and resume the table, or let the mirror be made "
                "again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`"
            )
    path.unlink()
    with pytest.raises(MirrorError) as error:
        deletion_vectors.load(storage, "t", vector)
    assert str(error.value).startswith(f"[M518] t/{vector.path} does not exist; restore the file")


@pytest.mark.parametrize(
    "vector",
    [
        DeletionVector("i", "not Z85 ", None, 6, 3),
        DeletionVector("i", deletion_vectors.encode_z85(bytes(24)), None, 24, 3),
        DeletionVector(
            "i", deletion_vectors.encode_z85(struct.pack("<iqII", 1681511377, 2, 0, 0)), None, 20, 3
        ),
        DeletionVector(
            "i", deletion_vectors.encode_z85(struct.pack("<iqII", 1681511377, 1, 0, 7)), None, 20, 3
        ),
        DeletionVector("p", "/somewhere/else.bin", 1, 24, 3),
        DeletionVector("u", "too short", 1, 24, 3),
        DeletionVector(
            "i",
            deletion_vectors.encode_z85(deletion_vectors.encode(BitMap([1, 2, 3]))[:32]),
            None,
            32,
            4,
        ),
    ],
)
def test_what_is_not_a_vector_is_an_error(tmp_path: Path, vector: DeletionVector) -> None:
    with pytest.raises(MirrorError, match="M518"):
        deletion_vectors.load(LocalStorage(str(tmp_path)), "t", vector)


def test_z85_is_that_of_its_specification() -> None:
    content = bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])
    assert deletion_vectors.encode_z85(content) == "HelloWorld"
    assert deletion_vectors.decode_z85("HelloWorld") == content
    for wrong in ("Hello~", "Hell", "#####", "\u00e9aaaa"):
        with pytest.raises(ValueError, match=wrong):
            deletion_vectors.decode_z85(wrong)


@given(st.binary().map(lambda content: content[: len(content) // 4 * 4]))
def test_bytes_survive_z85(content: bytes) -> None:
    assert deletion_vectors.decode_z85(deletion_vectors.encode_z85(content)) == content
