"""With lower_case_table_names 1 and 2, settings name tables in any case.

With 2, as on macOS, the log and the server have names as they were written. No server for Linux
runs so, so the names are given here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.configuration import in_lower_case
from connector.foundation.settings.sections import Settings
from connector.stream.envelope.debezium.row_filter import FilteredTable
from connector.stream.envelope.schemas.connect_types import source_type
from connector.stream.envelope.schemas.table_schema import (
    TableSchema,
    has_message_key,
    record_key_indexes,
)
from connector.stream.source.record_options import record_options

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from connector.stream.envelope.options import EnvelopeOptions

COLUMNS: tuple[SchemaColumn, ...] = (
    {"name": "Id", "type": "int", "nullable": False, "key": 1},
    {"name": "Mail", "type": "varchar", "nullable": True, "key": 0, "charset": "utf8mb4"},
    {"name": "Price", "type": "decimal", "nullable": True, "key": 0},
)
WRITTEN = ("Shop", "Orders")


def settings() -> Settings:
    document: dict[str, Any] = {
        "name": "shop",
        "source": {
            "server_id": 1,
            "exclude_columns": ["shop.ORDERS.price"],
            "masks": [{"columns": ["SHOP.orders.mail"], "chars": 3}],
        },
        "kafka": {"bootstrap_servers": ["k:9092"], "topic_prefix": "shop"},
        "envelope": {
            "profile": "debezium",
            "message_keys": ["shop.orders:Mail"],
            "source_types": ["shop.ORD*.id"],
            "source_types_by_type": ["sHop.orders.DECIMAL"],
            "routes": [{"tables": "shop.orders", "topic": "all.{table}"}],
            "filters": [{"tables": "shop.orders", "where": "Id > 1"}],
            "outbox": {"tables": ["shop.orders"]},
        },
    }
    return Settings.model_validate(document)


def found(options: EnvelopeOptions, database: str, table: str) -> list[bool]:
    """Return what the settings choose for a table: each of them, or nothing."""
    form, columns, outbox = options.debezium, options.columns, options.outbox
    assert form is not None
    assert form.filters is not None
    assert columns is not None
    assert outbox is not None
    rules = columns.of(database, table, COLUMNS)
    schema = TableSchema.of_columns(database, table, COLUMNS)
    filtered = FilteredTable(database, table, COLUMNS, range(len(COLUMNS)), set())
    return [
        columns.hides(database, table),
        "Mail" in rules.changes,
        "Price" in rules.left_out,
        has_message_key(schema, form),
        record_key_indexes(schema, form) == (1,),
        bool(source_type(COLUMNS[0], schema, form)),
        bool(source_type(COLUMNS[2], schema, form)),
        options.topics.of(database, table) == f"all.{table}",
        form.filters.of(filtered) is not None,
        outbox.takes(database, table),
        options.pipeline_header(database, table) == "shop",
    ]


@pytest.mark.parametrize("name", [WRITTEN, ("shop", "orders")])
def test_a_server_that_ignores_case_has_what_the_settings_choose(name: tuple[str, str]) -> None:
    chosen = found(record_options(in_lower_case(settings()), "mysql", None), *name)
    assert all(chosen), chosen
    other = found(record_options(in_lower_case(settings()), "mysql", None), "Shop", "Items")
    assert not any(other), other


def test_names_that_differ_in_case_are_those_of_different_tables_elsewhere() -> None:
    chosen = found(record_options(settings(), "mysql", None), *WRITTEN)
    assert not any(chosen), chosen
