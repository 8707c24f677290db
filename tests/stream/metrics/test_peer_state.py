"""The state of a peer: what is told of it, once."""

from __future__ import annotations

from structlog.testing import capture_logs

from connector.foundation.errors import SinkUnavailable, SourceUnavailable
from connector.stream.metrics.pipeline_metrics import PeerState, PipelineMetrics
from connector.stream.run import run_errors
from connector.stream.sink import kafka_errors

NO_ANSWER = SinkUnavailable(kafka_errors.NO_ANSWER, servers="kafka-1:9092")
STILL_NONE = SinkUnavailable(kafka_errors.NO_ANSWER, servers="kafka-2:9092")
SILENT = SourceUnavailable(run_errors.QUIET, address="db1:3306", seconds=4.2)


def test_a_loss_and_the_return_are_told_once_each() -> None:
    state = PeerState("Kafka")
    with capture_logs() as entries:
        state.answer()
        assert state.lose(NO_ANSWER)
        assert not state.lose(STILL_NONE)
        assert state.lost
        state.answer()
        state.answer()
    assert [entry["event"] for entry in entries] == ["Kafka was lost", "Kafka is back"]
    assert (entries[0]["error"], entries[0]["code"]) == (NO_ANSWER.text, "K103")
    assert entries[1]["away_seconds"] >= 0
    assert state.words() == "Kafka answers"


def test_a_peer_that_never_answered_cannot_be_reached() -> None:
    state = PeerState("the source")
    assert not state.up
    assert not state.lost
    assert state.words() == "the source has not been reached yet"
    with capture_logs() as entries:
        assert not state.lose(STILL_NONE)
        state.answer()
    assert [entry["event"] for entry in entries] == [
        "the source cannot be reached",
        "the source is back",
    ]


def test_a_loss_is_an_interruption_of_an_open_stream_alone() -> None:
    figures = PipelineMetrics("p")
    figures.kafka.answer()
    figures.lose(figures.kafka, NO_ANSWER)
    assert figures.interruptions == 0
    figures.kafka.answer()
    figures.begin_run()
    before = figures.connected
    figures.lose(figures.kafka, NO_ANSWER)
    assert figures.interruptions == 1
    assert (before, figures.connected) == (True, False)


def test_a_session_that_is_not_answered_says_nothing_of_a_stream_that_is_heard() -> None:
    figures = PipelineMetrics("p")
    figures.begin_run()
    states = []
    figures.source_unanswered(SILENT)
    states.append(figures.source.up)
    figures.miss(SILENT)
    # Another session is answered, and the stream is silent all the same.
    figures.source_answered()
    states.append(figures.source.up)
    figures.hear()
    states.append(figures.source.up)
    assert states == [True, False, True]
