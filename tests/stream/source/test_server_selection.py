"""What is said if none of several servers will do."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import SourceSettings
from connector.stream.source import setup_errors
from connector.stream.source.server_selection import choose_source
from local_stack.server import free_port


def test_servers_of_which_none_can_be_reached_may_go_on_later_and_each_has_a_line() -> None:
    ports = free_port(), free_port()
    settings = SourceSettings(
        host="127.0.0.1",
        port=ports[0],
        user="cdc",
        password=SecretStr("secret"),
        server_id=4001,
        failover_hosts=[f"127.0.0.1:{ports[1]}"],
    )
    with pytest.raises(SourceUnavailable) as raised:
        choose_source(settings, None)
    assert raised.value.code is setup_errors.NONE_NOW
    assert [line.partition(": ")[0] for line in raised.value.text.splitlines()[1:]] == [
        f"  [S101] source 127.0.0.1:{port}" for port in ports
    ]
