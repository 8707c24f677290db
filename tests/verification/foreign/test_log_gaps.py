"""Which tables have changes that the log of the source lacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from verification.foreign import log_gaps
from verification.foreign.log_gaps import LogGaps, read_gaps


def server(variables: dict[str, str], **status: str) -> Any:
    """A server with a child of a foreign key, and a grandchild."""
    names = [("child", "parent"), ("grandchild", "child"), ("tag", "parent")]
    columns = [
        {
            "db": "shop",
            "name": child,
            "key_name": f"to_{parent}",
            "child": "parent_id",
            "parent_db": "shop",
            "parent_name": parent,
            "parent": "id",
        }
        for child, parent in names
    ]
    rules = [
        {
            "db": "shop",
            "name": child,
            "key_name": f"to_{parent}",
            "on_delete": "RESTRICT" if child == "tag" else "CASCADE",
            "on_update": "NO ACTION",
        }
        for child, parent in names
    ]

    def query(sql: str) -> list[dict[str, Any]]:
        if "innodb_native_foreign_keys" in sql:
            found = variables.get("innodb_native_foreign_keys")
            return [] if found is None else [{"Value": found}]
        if "referential_constraints" in sql:
            return rules
        return columns if "key_column_usage" in sql else [status]

    return SimpleNamespace(
        query=query,
        variables=lambda names: {name: variables[name] for name in names if name in variables},
        identity=SimpleNamespace(flavour="mysql", version_number=(8, 0, 40)),
    )


def test_tables_that_foreign_keys_change_have_no_witness() -> None:
    gaps = read_gaps(server({"binlog_format": "ROW"}))
    hidden = [
        name for name in ("parent", "child", "grandchild", "tag") if gaps.hide(("shop", name))
    ]
    assert hidden == ["child", "grandchild"]
    assert read_gaps(server({"innodb_native_foreign_keys": "OFF"})) == LogGaps()


@pytest.mark.parametrize(
    ("variables", "status", "setting"),
    [
        ({"binlog_format": "MIXED"}, {}, "binlog_format=MIXED"),
        ({}, {"Binlog_Do_DB": "shop"}, "binlog_do_db=shop"),
        ({}, {"Binlog_Do_DB": "", "Binlog_Ignore_DB": "tmp"}, "binlog_ignore_db=tmp"),
        ({"log_slave_updates": "OFF"}, {}, "log_slave_updates=OFF"),
        ({"log_replica_updates": "OFF", "log_slave_updates": "OFF"}, {}, "log_replica_updates=OFF"),
    ],
)
def test_a_setting_may_keep_changes_of_each_table_out_of_the_log(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    status: dict[str, str],
    setting: str,
) -> None:
    monkeypatch.setattr(log_gaps, "replicates", lambda _: True)
    gaps = read_gaps(server(variables, **status))
    assert gaps.setting == setting
    assert gaps.hide(("any", "table"))
    if setting.endswith("updates=OFF"):
        monkeypatch.setattr(log_gaps, "replicates", lambda _: False)
        assert not read_gaps(server(variables)).setting
