"""A search among brokers that do not answer ends, also when it is interrupted."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError

from connector.kafka.cluster import Cluster, Network
from tests.kafka import broker_socket

SETTINGS = {"request_timeout_ms": 20_000, "client_id": "binlog-connector"}
BROKERS = {node: ("broker", 9092 + node) for node in range(1, 6)}


class SilentBrokers:
    """Brokers to which a connection is opened only in vain, until they are back."""

    def __init__(self) -> None:
        self.are_back = False
        self.tried: list[int] = []
        self.searches = 0
        self.is_tried, self.is_late = Event(), Event()

    def network(self) -> Network:
        return Network(self._connect, self._find)

    def _connect(self, _: object, __: str, port: int, ___: float) -> Any:
        self.tried.append(port)
        if not self.are_back:
            self.is_tried.set()
            assert self.is_late.wait(30)
            raise TimeoutError
        return broker_socket.logged_in(self._serve)

    def _find(self, *_: object) -> Any:
        self.searches += 1
        return BROKERS, broker_socket.logged_in(self._serve)

    def _serve(self, request: Any) -> Any:
        if not self.are_back:
            raise ConnectionResetError
        return broker_socket.metadata(request, {"t": 1})


def test_an_interrupted_search_asks_no_other_broker() -> None:
    brokers = SilentBrokers()
    cluster = Cluster(SETTINGS, brokers.network())
    failures: list[BaseException] = []

    def ask() -> None:
        with pytest.raises(KafkaConnectionError) as caught:
            cluster.refresh(["t"])
        failures.append(caught.value)

    thread = Thread(target=ask)
    thread.start()
    assert brokers.is_tried.wait(30)
    cluster.interrupt()
    brokers.is_late.set()
    thread.join(30)
    assert len(failures) == 1
    assert len(brokers.tried) == 1
    assert brokers.searches == 1
    # Whoever ends the producer may still ask, to abort a transaction.
    brokers.are_back = True
    cluster.refresh(["t"])
    assert cluster.leader_of(("t", 0)) == broker_socket.NODE
    cluster.close()


def test_brokers_are_found_again_after_a_few_that_do_not_answer() -> None:
    brokers = SilentBrokers()
    brokers.is_late.set()
    cluster = Cluster(SETTINGS, brokers.network())
    with pytest.raises(ConnectionResetError):
        cluster.refresh(["t"])
    assert len(brokers.tried) == len(set(brokers.tried)) == 3
    assert brokers.searches == 2
    cluster.close()
