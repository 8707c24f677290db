"""Which servers are asked, and in which order."""

from __future__ import annotations

from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.addresses import address_of, candidates

SETTINGS = SourceSettings(
    host="first",
    port=3307,
    server_id=1,
    user="u",
    failover_hosts=["second", "third:3308", "[::1]", "[fe80::2]:3309", "first:3307"],
)


def test_each_server_comes_once_in_the_order_of_the_configuration() -> None:
    found = [(candidate.host, candidate.port) for candidate in candidates(SETTINGS)]
    assert found == [
        ("first", 3307),
        ("second", 3307),
        ("third", 3308),
        ("::1", 3307),
        ("fe80::2", 3309),
    ]
    assert {candidate.user for candidate in candidates(SETTINGS)} == {"u"}


def test_the_server_that_was_read_last_is_asked_first() -> None:
    found = [address_of(candidate) for candidate in candidates(SETTINGS, "third:3308")]
    assert found == ["third:3308", "first:3307", "second:3307", "::1:3307", "fe80::2:3309"]


def test_a_server_that_is_configured_no_more_is_not_asked() -> None:
    assert candidates(SETTINGS, "gone:3306") == candidates(SETTINGS)
