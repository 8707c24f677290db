"""What names a target: its kind, and a package that it may need."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from verification import foreign
from verification.foreign import foreign_errors
from verification.foreign.table_choice import matching, read_choice

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
        ("mysql://audit:pass word@db2/shop.orders", "mysql://audit@db2/shop.orders"),
    ],
)
def test_passwords_are_not_shown(target: str, shown: str) -> None:
    assert read_choice(f"shop.orders={target}").shown_target == shown


@pytest.mark.parametrize(
    "place",
    [
        "mysql://audit:p[word]x@db2/shop.orders",
        "mysql://audit:12/word@db2/shop.orders",
        "iceberg-rest:http://audit:p[word]x@db2/?table=shop.orders",
        "mysql:audit:word@db2/shop.orders",
        "mysql://audit:p[a word@db2/shop.orders",
    ],
)
def test_a_password_that_is_not_encoded_is_not_shown(place: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_choice(f"shop.orders={place}").opened()
    assert raised.value.code is foreign_errors.SERVER_FORM
    assert "word" not in str(raised.value)


def test_the_password_of_an_unknown_kind_is_not_shown() -> None:
    with pytest.raises(ConfigError) as raised:
        read_choice("a.b=postgres://u:pass word@dwh/d.s.t")
    assert raised.value.code is foreign_errors.TARGET_FORM
    assert "a.b=postgres://u@dwh/d.s.t: postgres is no kind" in str(raised.value)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("postgresql://u:p@h/db.t?sslpassword=S3CRET", "postgresql://u@h/db.t?sslpassword"),
        (
            "clickhouse://h/db.t?access_token=S3CRET&secure=1",
            "clickhouse://h/db.t?access_token&secure",
        ),
        ("postgresql://u:p@h/db.t?x=S3CRET@a", "postgresql://u@a"),
        (
            "iceberg-rest:https://c:S3CRET@h/p?table=a.b&warehouse=w&scope=S3CRET",
            "iceberg-rest:https://c@h/p?table=a.b&warehouse=w&scope",
        ),
        # A certificate names all of a path.
        ("delta:s3://lake/a?b=c", "delta:s3://lake/a?b=c"),
        ("delta:/lake/a@b", "delta:/lake/a@b"),
    ],
)
def test_values_of_options_are_not_shown(target: str, shown: str) -> None:
    assert read_choice(f"shop.orders={target}").shown_target == shown


def test_values_of_options_are_not_in_errors() -> None:
    with pytest.raises(ConfigError) as raised:
        read_choice("shop.order?=redshift://u:p@h/db.t?token=S3CRET")
    assert "redshift://u@h/db.t?token" in str(raised.value)
    assert "S3CRET" not in str(raised.value)


@pytest.mark.parametrize(
    "target",
    [
        "mysql://u:a[b@h/db.t",
        "iceberg-rest:https://u:a[b@h/p?table=a.b",
        "postgresql://u:a[b@h/db.t",
        *(f"postgresql://h/db.t?{name}=x" for name in ("user", "options", "host", "dbname")),
        *(f"clickhouse://h/db.t?{name}=x" for name in ("database", "username", "port")),
    ],
)
def test_a_url_that_names_no_table_or_a_part_twice_is_refused(target: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_choice(f"shop.orders={target}").opened()
    assert raised.value.code is foreign_errors.SERVER_FORM


class _Session:
    """A source with two tables."""

    def __init__(self, lower_case_table_names: str = "0") -> None:
        self._value = lower_case_table_names

    def query(self, sql: str) -> list[dict[str, str]]:
        if "lower_case_table_names" in sql:
            return [{"value": self._value}]
        return [{"db": "shop", "name": name} for name in ("orders", "other")]


def test_each_target_of_a_table_is_compared_and_a_pattern_adds_none() -> None:
    texts = (
        "shop.orders=delta:/a",
        "shop.orders=delta:/b",
        "shop.orders=delta:/a",
        "shop.*=delta:/lake/{table}",
        "shop.o*=delta:/late/{table}",
        "shop.other=delta:/c",
    )
    session: Any = _Session()
    found = [(own.name, own.target) for own in matching(session, list(map(read_choice, texts)))]
    assert found == [
        ("shop.orders", "delta:/a"),
        ("shop.orders", "delta:/b"),
        ("shop.other", "delta:/lake/other"),
        ("shop.other", "delta:/c"),
    ]


@pytest.mark.parametrize("value", ["1", "2"])
def test_a_name_in_another_case_is_that_of_the_log_if_the_server_ignores_case(value: str) -> None:
    choices = [read_choice(f"{name}=delta:/a") for name in ("Shop.ORDERS", "shop.orders", "SHOP.x")]
    names = [own.name for own in matching(cast("Any", _Session(value)), choices)]
    assert names == ["shop.orders", "SHOP.x"]
    names = [own.name for own in matching(cast("Any", _Session()), choices)]
    assert names == ["Shop.ORDERS", "shop.orders", "SHOP.x"]
