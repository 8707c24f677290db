"""What names a target: its kind, and a package that it may need."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from verification import foreign
from verification.foreign.table_choice import read_choice

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


@pytest.mark.parametrize(
    ("kind", "package", "code"),
    [
        ("postgresql", "psycopg", settings_errors.POSTGRESQL_EXTRA),
        ("clickhouse", "clickhouse_connect", settings_errors.CLICKHOUSE_EXTRA),
    ],
)
def test_a_target_of_a_package_that_is_missing_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: str, package: str, code: ErrorCode
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"verification.foreign.{kind}_target", raising=False)
    monkeypatch.delattr(foreign, f"{kind}_target", raising=False)
    choice = read_choice(f"shop.orders={kind}://audit:secret@dwh/shop.orders")
    with pytest.raises(ConfigError) as raised:
        choice.opened()
    assert raised.value.code is code
    assert f"pip install 'binlog-connector[spark,{kind}]'" in str(raised.value)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("postgresql://audit:s@e@dwh/shop.app.t", "postgresql://audit@dwh/shop.app.t"),
        ("mysql://audit:a:b@db2/shop.orders", "mysql://audit@db2/shop.orders"),
        ("mysql://audit@db2/shop.orders", "mysql://audit@db2/shop.orders"),
    ],
)
def test_passwords_are_not_shown(target: str, shown: str) -> None:
    assert read_choice(f"shop.orders={target}").shown_target == shown
