"""Tables without keys on both sides: what `--since` and `--state` do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.verification.pair import pair_of

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [
    {"match": ["*.counted"], "mode": "rows"},
    {"match": ["*.changes"], "mode": "journal"},
    {"match": ["*.mails"], "hash_columns": ["mail"]},
]


def test_without_keys_on_both_sides_all_rows_are_compared(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE counted (a INT)",
        "CREATE TABLE changes (id INT PRIMARY KEY)",
        "CREATE TABLE mails (mail VARCHAR(9) PRIMARY KEY)",
        *(f"INSERT INTO {name} VALUES (1), (2)" for name in ("counted", "changes", "mails")),
    )
    state = str(stream.directory / "verify.state")
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(6)
        code, report = pair.report("--since", "1")
        for name in ("counted", "changes"):
            pair.damage(name, lambda rows: [*rows[1:]])
        pair.damage("mails", lambda rows: [row | {"mail": "x"} for row in rows[:1]])
        kept, differing = pair.report("--state", state)
    why = {
        table["table"].split(".")[1]: table["compared_since"]["all_rows_because"]
        for table in report["tables"]
    }
    assert code == 0
    assert why == {
        "counted": "the table has no key",
        "changes": "the mirror is a journal",
        "mails": "the mirror hides the key",
    }
    kinds = [sorted(each["kind"] for each in table["differences"]) for table in differing["tables"]]
    assert (kept, kinds) == (4, [[], ["missing"], ["missing", "missing", "surplus"]])
