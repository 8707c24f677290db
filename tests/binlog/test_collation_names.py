"""Names of collations, compared with the servers' own lists."""

from __future__ import annotations

import pytest

from connector.binlog.character_sets import collation_name


@pytest.mark.parametrize("number", [0, 272, 1024, 2047, 2048 + 8 * 21, 2048 + 255, 2048 + 5 * 256])
def test_an_unknown_number_has_no_name(number: int) -> None:
    assert collation_name(number) is None
    assert collation_name(number, mariadb=True) is None


@pytest.mark.parametrize("number", [1032, 2304])
def test_mysql_has_no_names_of_mariadb(number: int) -> None:
    assert collation_name(number) is None
    assert collation_name(number, mariadb=True) is not None
