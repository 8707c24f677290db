"""Tables that are compared by sums: what is read then, and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.foundation.errors.texts import shown
from tests.integration.verification.pair import pair_of
from verification import verify_errors

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = pytest.mark.kafka

ROWS = 6000


def test_only_ranges_that_differ_are_read_row_by_row(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2))",
        "CREATE TABLE texts (id VARCHAR(20) PRIMARY KEY)",
        "INSERT INTO texts VALUES ('a')",
        "INSERT INTO t VALUES "
        + ", ".join(f"({number * 7}, '{number}', {number}.5)" for number in range(ROWS)),
    )
    table = f"{stream.database}.t"

    def damage(rows: list[Row]) -> list[Row]:
        by_id = {int(row["id"]): row for row in rows}
        # Two rows exchange a value, and one is there twice in place of another one.
        by_id[700]["name"], by_id[707]["name"] = by_id[707]["name"], by_id[700]["name"]
        by_id[777] = dict(by_id[784])
        return list(by_id.values())

    with pair_of(stream) as pair:
        pair.catch_up(ROWS + 1)
        code, report = pair.report(table)
        (equal,) = report["tables"]
        assert (code, equal["rows"], equal["rows_by_checksum"]) == (0, ROWS, ROWS)
        assert equal["mirror_rows"] == ROWS
        pair.damage("t", damage)
        code, report = pair.report(table)
        (different,) = report["tables"]
        found = {int(each["key"]["id"]): each["kind"] for each in different["differences"]}
        assert (code, different["rows"]) == (4, ROWS)
        assert found == {700: "different", 707: "different", 777: "missing", 784: "surplus"}
        assert 0 < different["rows_by_checksum"] < ROWS
        some = pair.report("--sample", "10", "--seed", "7", table)[1]["tables"][0]
        again = pair.report("--sample", "10", "--seed", "7", table)[1]["tables"][0]
        whole = pair.verify("--sample", "100", "--seed", "1", table)
        texts = pair.verify("--sample", "10", f"{stream.database}.texts")
    assert some["sample"].startswith("3 of ")
    assert some["sample"].endswith(" ranges of keys, --seed 7")
    assert 0 < some["rows"] < ROWS
    assert (again["sample"], again["rows"]) == (some["sample"], some["rows"])
    assert whole.returncode == 4
    assert whole.stdout.splitlines()[0].startswith(f"{table}: different: 4 of {ROWS} rows")
    no_ranges = shown(verify_errors.NO_RANGES, table=f"{stream.database}.texts")
    assert texts.stdout == f"{stream.database}.texts: not compared: {no_ranges}\n"
    assert texts.returncode == 2
