"""A filter keeps the rows that the server's WHERE chooses, in copies and in the log."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.binlog.events.rows import RowsEvent
from connector.foundation.settings.envelope import FilterSettings
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.row_images import FilterGate
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.table_registry import PublishedTable
from connector.stream.source.condition_parser import Condition
from connector.stream.source.row_filters import ConditionFilters
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.snapshots.test_selected_rows import Place, place_on
from tests.integration.source_server import source_of
from tests.length import length
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.server

# Of the collations, these compare characters, and spaces at the end count.
COLLATIONS = {"mysql_server": "utf8mb4_0900_bin", "mariadb_server": "utf8mb4_nopad_bin"}
ROWS = (
    "1, 0, 0, -1.50, '', 'a', X'', '2026-01-01', '2026-01-31 08:15:00.250', '2026-01-31 00:00:00'",
    "2, -1, 18446744073709551615, 0, 'A', 'B', X'41', '2026-01-31', '2026-01-31', NULL",
    "3, 7, 7, 7.00, 'a', NULL, X'4100', '1999-12-31', '2026-01-31 08:15:00', '2026-01-01'",
    "4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "5, 255, 9223372036854775808, 2.5, 'é%', 'a', X'FF', '2026-02-01', '1000-01-01', '2026-02-01'",
    "6, 1, 1, 1, 'a ', 'B', X'00', '2026-01-31', '2026-01-31 08:15:00.2', '2026-01-31 08:15:00'",
)
KINDS = {
    "number": ["id", "n", "u", "m", "0", "7", "-1", "2.5", "18446744073709551615", "NULL", "TRUE"],
    "text": ["s", "e", "'a'", "'A'", "'é%'", "''", "'a '", "NULL"],
    "bytes": ["b", "X''", "X'41'", "X'00'", "NULL"],
    "date": ["d", "'2026-01-31'", "'1999-12-31'", "NULL"],
    "moment": ["t", "z", "'2026-01-31 08:15:00'", "'2026-01-31'", "NULL"],
}
COLUMNS = {"text": ["s", "e"], "date": ["d"], "moment": ["t", "z"]}
EQUALS = ["=", "<>", "!=", "<=>"]
ORDERS = [*EQUALS, "<", "<=", ">", ">="]


@st.composite
def predicates(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(list(KINDS)))
    operand = st.sampled_from(KINDS[kind])
    # A column decides how texts are compared, and that they are dates.
    one = draw(st.sampled_from(COLUMNS.get(kind, KINDS[kind])))
    form = draw(st.sampled_from(["{0} {op} {1}", "{0} IN ({1}, {2})", "{0} IS NULL", *MORE[kind]]))
    op = draw(st.sampled_from(EQUALS if kind == "text" else ORDERS))
    return form.format(one, draw(operand), draw(operand), op=op)


BETWEEN = ["{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}"]
MORE = {
    "number": [*BETWEEN, "{0}", "{0} IS TRUE", "{0} IS NOT FALSE"],
    "text": ["s LIKE 'a%'", "s NOT LIKE '_'", "s LIKE 'é|%' ESCAPE '|'", "f IS NULL"],
    "bytes": BETWEEN,
    "date": BETWEEN,
    "moment": BETWEEN,
}
TREES = st.recursive(
    predicates(),
    lambda smaller: st.one_of(
        st.builds("({}) {} ({})".format, smaller, st.sampled_from(["AND", "OR", "XOR"]), smaller),
        st.builds("NOT ({})".format, smaller),
        st.builds("({}) {}".format, smaller, st.sampled_from(["IS NULL", "IS TRUE", "= TRUE"])),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module", params=[*COLLATIONS])
def filled(request: pytest.FixtureRequest) -> Iterator[tuple[Place, list[RowsEvent]]]:
    """A table with a column of each kind, and the events of its rows."""
    server = request.param
    for place in place_on(source_of(request.getfixturevalue(server))):
        place.run(
            "CREATE TABLE t (id INT PRIMARY KEY, n SMALLINT, u BIGINT UNSIGNED, m DECIMAL(10,2),"
            " s VARCHAR(20), e ENUM('a','B'), b VARBINARY(9), d DATE, t DATETIME(3),"
            " z TIMESTAMP NULL, f DOUBLE) CHARACTER SET utf8mb4 COLLATE " + COLLATIONS[server]
        )
        place.run("SET time_zone = '+00:00'")
        values = ", ".join(f"({row}, NULL)" for row in ROWS)
        place.run(f"INSERT INTO t VALUES {values}")
        yield place, [e.body for e in place.log.events() if isinstance(e.body, RowsEvent)]


def compared_by_value(where: str) -> str:
    """Return a condition without IN.

    MySQL compares the bits of numbers if the list has an unsigned one and a column: its row with
    n = -1 is IN (18446744073709551615, id).
    """
    return re.sub(r"([^\s(]+) IN \(([^(),]*), ([^(),]*)\)", r"(\1 = \2 OR \1 = \3)", where)


@given(where=TREES)
@settings(
    max_examples=length(short=60, full=3000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_rows_are_those_of_the_server(
    filled: tuple[Place, list[RowsEvent]], where: str
) -> None:
    place, events = filled
    schema = TableSchema.from_table_map(events[0].table_map, "here")
    names = [column["name"] for column in schema.columns]
    sql = Condition.parse(compared_by_value(where)).sql(place.database, "t", names)
    found = place.session.query(f"SELECT id FROM {place.database}.t WHERE {sql}")
    expected = {int(row["id"] or 0) for row in found}
    form = DebeziumProfile(filters=ConditionFilters([FilterSettings(tables="*.t", where=where)]))
    table = place.describe()
    select = f"SELECT {table.select_list} FROM {table.quoted_name}"
    copied = whole_chunk(place.session, select, table.writer(form))
    keys = copied.keys()
    assert {json.loads(key)["id"] for key in keys} == expected
    gate = FilterGate(Collected())
    options = EnvelopeOptions("p", "mysql", "1", debezium=form)
    logged: set[int] = set()
    number = 0
    for event in events:
        published = PublishedTable(event.table_map, schema, "t", TableWindows(), options)
        images = published.judged_images(event, gate)
        while images.next_row():
            number += 1
            if gate.keeps_after:
                logged.add(number)
            images.put(BytesWriter())
    assert number == len(ROWS)
    assert logged == expected
