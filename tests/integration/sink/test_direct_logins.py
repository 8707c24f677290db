"""Transactions are committed through TLS and logins, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink.kafka_sink import KafkaSink
from tests.integration.sink.commits import PROGRESS, commit, publish
from tests.integration.sink.test_direct_commits import delivered, warm
from tests.integration.start.kafka_doors import PASSWORD, USER, open_doors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.start.kafka_doors import Doors

pytestmark = pytest.mark.kafka

LOGIN = {"sasl_mechanism": "PLAIN", "sasl_username": USER, "sasl_password": PASSWORD}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with open_doors(tmp_path_factory.mktemp("doors")) as doors:
        yield doors


def settings(doors: Doors, door: str, prefix: str) -> KafkaSettings:
    """Return the settings for one of the listeners."""
    protocols = {"TLS": "SSL", "LOGIN": "SASL_PLAINTEXT", "TLS_LOGIN": "SASL_SSL"}
    values: dict[str, Any] = {
        "bootstrap_servers": [doors.address(door)],
        "topic_prefix": prefix,
        "security_protocol": protocols[door],
    }
    if "TLS" in door:
        values["ssl_ca"] = doors.authority
    if "LOGIN" in door:
        values |= LOGIN
    return KafkaSettings.model_validate(values)


@pytest.mark.parametrize("door", ["TLS", "LOGIN", "TLS_LOGIN"])
def test_transactions_go_through_every_door(doors: Doors, door: str, prefix: str) -> None:
    sink = KafkaSink(settings(doors, door, prefix), "pipe", "a", 1 << 20)
    try:
        warm(sink, prefix)
        for number in range(3):
            # Of more bytes than one record of TLS, and than one receive.
            publish(sink, prefix, range(number, number + 1), size=50_000)
            commit(sink, PROGRESS)
        publish(sink, prefix, range(3, 20), size=50_000)
        commit(sink, PROGRESS)
        assert delivered(doors.broker, prefix) == list(range(20))
    finally:
        sink.close()
