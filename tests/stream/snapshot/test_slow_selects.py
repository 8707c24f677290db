"""A SELECT that takes too long even for one row."""

from __future__ import annotations

from connector.foundation.errors import SourceUnavailable
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.table_reader import _too_slow
from tests.foundation.errors.texts import text_of


def test_the_copy_of_a_whole_table_waits_for_the_server() -> None:
    error = _too_slow("shop.orders", "", 30.0)
    assert isinstance(error, SourceUnavailable)
    assert error.text == text_of(copy_errors.SLOW, table="shop.orders", seconds=30)
