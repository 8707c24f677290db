"""What names a target: its kind, and a package that it may need."""

from __future__ import annotations

import sys

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from verification.foreign.table_choice import read_choice


def test_a_target_of_a_package_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "verification.foreign.postgresql_target", raising=False)
    choice = read_choice("shop.orders=postgresql://audit:secret@dwh/shop.public.orders")
    with pytest.raises(ConfigError) as raised:
        choice.opened()
    assert raised.value.code is settings_errors.POSTGRESQL_EXTRA
    assert "pip install 'binlog-connector[spark,postgresql]'" in str(raised.value)


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
