"""A broker that is not Apache Kafka: `make test-foreign-broker` runs tests on it.

The program is `kfake`, which implements the protocol and the transactions anew. A test that needs a
broker with settings of its own, or a cluster, is skipped where it asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from local_stack import KafkaBroker
from tests.integration.second_broker import SecondBroker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

# Tests of what kfake does otherwise than Kafka, and what it does.
_DIFFERENCES: Final = {
    "test_a_broker_that_is_killed_between_records_and_commit_loses_nothing": "it aborts open "
    "transactions, and fences their producers, when it starts after SIGKILL",
    **dict.fromkeys(
        (
            f"test_a_producer_that_is_fenced_on_the_way_commits_nothing_more[produce-{size}]"
            for size in ("small", "large")
        ),
        "it answers records of a producer that was fenced with INVALID_TXN_STATE",
    ),
    "test_a_partition_without_the_marker_of_an_abort_gets_it": "it has no setting "
    "transaction.partition.verification.enable",
    "test_a_topic_that_takes_smaller_records_sets_its_table_alone_aside": "it does not tell its "
    "socket.request.max.bytes, so no limits are compared",
}


def expect_differences(items: Iterable[pytest.Item]) -> None:
    """Demand that tests fail where the broker is not like Kafka."""
    for item in items:
        own = _DIFFERENCES.get(item.name)
        if reason := own or _DIFFERENCES.get(getattr(item, "originalname", "")):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def use_program(command: Sequence[str]) -> None:
    """Let each broker of the tests be this program, called with a port and a folder."""
    program, *rest = command

    def serve(broker: KafkaBroker, port: int) -> list[str]:
        return [program, str(port), str(broker.directory / "data"), *rest]

    KafkaBroker.name = "foreign broker"
    KafkaBroker.port_taken = "address already in use"
    KafkaBroker._prepare = _skip_with_settings  # type: ignore[method-assign, assignment]
    KafkaBroker._command = serve  # type: ignore[method-assign, assignment]
    SecondBroker.__init__ = _skip_cluster  # type: ignore[method-assign, assignment]


def _skip_with_settings(broker: KafkaBroker) -> None:
    if broker._settings:
        pytest.skip(f"a foreign broker has no setting {min(broker._settings)}")


def _skip_cluster(*_: object) -> NoReturn:
    pytest.skip("a foreign broker has no cluster")
