"""The folder of a mirror: readers open it whatever its table is called, and it does not move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.lake.demo.stack import read_mirror
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("note", "varchar", length=20))
FOLDERS = {"t$1": "t!241", "a b": "a!20b", "_t": "!5Ft", "tä": "t!C3!A4"}


def test_readers_open_the_mirror_of_each_name(kafka: Kafka, job: Job) -> None:
    for number, name in enumerate(FOLDERS):
        SourceTable(kafka, name, COLUMNS).create().insert({"id": number, "note": name})
    job.run()
    assert job.exit_code == 0
    shop = job.folder / "mirror" / "shop"
    assert {each.name for each in shop.iterdir()} == set(FOLDERS.values())
    for name, folder in FOLDERS.items():
        rows = read_mirror(shop / folder).select(["note"]).to_pylist()
        assert rows == [{"note": name}]


def test_a_mirror_with_the_folder_of_an_earlier_version_goes_on(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "a b", COLUMNS).create()
    table.insert({"id": 1, "note": "a"})
    job.run()
    shop = job.folder / "mirror" / "shop"
    (shop / "a!20b").rename(shop / "a%20b")
    table.insert({"id": 2, "note": "b"})
    job.run()
    assert job.exit_code == 0
    assert [each.name for each in shop.iterdir()] == ["a%20b"]
    # To its new name again, while the job is down: it goes on there.
    (shop / "a%20b").rename(shop / "a!20b")
    table.insert({"id": 3, "note": "c"})
    job.run()
    rows = read_mirror(shop / "a!20b").select(["id"]).to_pylist()
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
