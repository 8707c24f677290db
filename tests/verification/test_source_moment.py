"""What a server of MariaDB surely lacks of what it, or the server before it, had."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from verification.source_moment import lost_part


@pytest.mark.parametrize(
    ("transactions", "state", "lost"),
    [
        ("0-1-7", "0-1-7", ""),
        ("0-1-7", "0-1-7,0-2-8", ""),
        # It was a replica, and has not got the last ones.
        ("0-1-7", "0-1-5,0-2-6", "0-1-7"),
        ("0-1-7,5-1-2", "0-1-6,5-1-2", "0-1-7"),
        # It was made from a copy: its log does not tell.
        ("0-1-7", "0-2-8", ""),
        ("0-1-7", "", "0-1-7"),
        ("", "", ""),
    ],
)
def test_the_last_numbers_of_each_server_tell_what_is_lost(
    transactions: str, state: str, lost: str
) -> None:
    identity = SimpleNamespace(flavour="mariadb", gtid=True)
    row = {"found": state, "known": state.rpartition(",")[2]}
    session: Any = SimpleNamespace(identity=identity, query=lambda _: [row])
    assert lost_part(session, transactions) == lost
