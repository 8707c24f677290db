"""Puffin files are those that another implementation reads."""

from __future__ import annotations

from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.iceberg.puffin import Vector, puffin_file


def test_another_implementation_reads_the_vectors() -> None:
    dead = {"file:///a": [1, 5, 70_000], "file:///b": list(range(1000))}
    vectors = [
        Vector(uri, deletion_vectors.encode(BitMap(rows)), len(rows)) for uri, rows in dead.items()
    ]
    content, places = puffin_file(vectors)
    file = PuffinFile(content)
    vectors_of = deletion_vectors_from_puffin_file(file)
    found = {v.referenced_data_file: v.to_vector().to_pylist() for v in vectors_of}
    assert found == dead
    assert [(blob.offset, blob.length) for blob in file.footer.blobs] == places
    assert [blob.properties["cardinality"] for blob in file.footer.blobs] == ["3", "1000"]
