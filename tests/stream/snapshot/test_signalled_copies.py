"""Signals in the form of Debezium become requests of copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import RequestRefused
from connector.stream.commands import request_errors
from connector.stream.snapshot.copy_commands import (
    CopyCommand,
    copy_commands,
    message_of,
    stopped_tables,
    table_names,
)

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode

ORDERS = {"data-collections": ["shop.orders"]}
FOLLOWED = TableFilter(["shop.*"])


def test_tables_are_copied_by_their_filters() -> None:
    data = {
        "type": "incremental",
        "data-collections": ["shop.orders", "shop\\.items", "shop.a b", "shop.orders"],
        "additional-conditions": [
            {"data-collection": "shop.orders", "filter": "id > 7"},
            {"data-collection": "shop\\.a b", "filter": "id > 7", "surrogate-key": "m"},
        ],
    }
    orders, items, other = ("shop", "orders"), ("shop", "items"), ("shop", "a b")
    assert copy_commands(data, FOLLOWED) == [
        CopyCommand([orders], "id > 7", []),
        CopyCommand([items], "", []),
        CopyCommand([other], "id > 7", [], "m"),
    ]
    assert copy_commands(data | {"surrogate-key": "m"}, FOLLOWED) == [
        CopyCommand([orders, other], "id > 7", [], "m"),
        CopyCommand([items], "", [], "m"),
    ]
    assert copy_commands(ORDERS, FOLLOWED) == [CopyCommand([orders], "", [])]


def test_copies_of_all_tables_or_of_some_are_stopped() -> None:
    assert stopped_tables({}, FOLLOWED) == []
    stopped = stopped_tables({**ORDERS, "type": "INCREMENTAL"}, FOLLOWED)
    assert stopped == [("shop", "orders")]


def test_a_log_in_lower_case_has_the_tables_of_any_case() -> None:
    lower = TableFilter(["shop.*"], ignores_case=True, lower_case_names=True)
    data = {
        "data-collections": ["SHOP.Orders", "shop.orders", "Shop.items"],
        "additional-conditions": [{"data-collection": "shop.ORDERS", "filter": "Id > 7"}],
    }
    orders, items = ("shop", "orders"), ("shop", "items")
    assert copy_commands(data, lower) == [
        CopyCommand([orders], "Id > 7", []),
        CopyCommand([items], "", []),
    ]
    assert stopped_tables({"data-collections": ["SHOP.Orders"]}, lower) == [orders]
    assert table_names([["SHOP", "Orders"], ["shop", "orders"]], lower) == [orders]
    # With lower_case_table_names = 2, the log has names as they were created.
    created = TableFilter(["shop.*"], ignores_case=True)
    assert table_names([["SHOP", "Orders"]], created) == [("SHOP", "Orders")]


def test_only_incremental_snapshots_are_stopped_by_a_signal() -> None:
    assert copy_commands({**ORDERS, "type": "blocking"}, FOLLOWED) == copy_commands(
        ORDERS, FOLLOWED
    )
    with pytest.raises(RequestRefused) as caught:
        stopped_tables({**ORDERS, "type": "BLOCKING"}, FOLLOWED)
    assert caught.value.code is request_errors.SNAPSHOT_TYPE


def test_a_message_is_one_short_line() -> None:
    assert message_of({"message": "at {}\n"}, 7) == "at 7?"
    with pytest.raises(RequestRefused) as caught:
        message_of({}, 7)
    assert caught.value.code is request_errors.NO_MESSAGE


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": []}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": "shop.orders"}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": [7]}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": ["orders"]}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": ["shop.order.*"]}, request_errors.DATA_COLLECTIONS),
        ({"data-collections": ["shop." + "x" * 65]}, request_errors.NO_TABLE),
        ({**ORDERS, "type": "FULL"}, request_errors.SNAPSHOT_TYPE),
        ({**ORDERS, "type": 7}, request_errors.SNAPSHOT_TYPE),
        ({**ORDERS, "surrogate-key": 7}, request_errors.SURROGATE_KEY),
        ({**ORDERS, "surrogate-key": "n" * 65}, request_errors.SURROGATE_KEY),
        ({**ORDERS, "surrogate-key": "\ud800"}, request_errors.SURROGATE_KEY),
        ({**ORDERS, "additional-condition": "id > 7"}, request_errors.UNKNOWN_KEYS),
        ({**ORDERS, "additional-conditions": {"filter": ""}}, request_errors.ADDITIONAL_CONDITIONS),
        ({**ORDERS, "additional-conditions": ["id > 7"]}, request_errors.ADDITIONAL_CONDITIONS),
        (
            {**ORDERS, "additional-conditions": [{"data-collection": "a.b", "filter": 7}]},
            request_errors.ADDITIONAL_CONDITIONS,
        ),
        (
            {**ORDERS, "additional-conditions": [{"filter": "id > 7"}]},
            request_errors.DATA_COLLECTIONS,
        ),
    ],
)
def test_what_a_signal_cannot_mean_is_refused(data: dict[str, Any], code: ErrorCode) -> None:
    with pytest.raises(RequestRefused) as caught:
        copy_commands(data, FOLLOWED)
    assert caught.value.code is code
