"""Whatever comes, every change is published or in quarantine, and replayed once, in order."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.length import length
from tests.stream.quarantine.bench import (
    BAD,
    LARGE,
    Kafka,
    Log,
    Row,
    Run,
    folded,
    kept_rows,
    sequences,
    value_of,
    written_rows,
)

ROOMY = 1 << 20
EXAMPLES = length(short=10, full=50)
_IDS = st.integers(1, 4)
_TEXTS = st.sampled_from([b"a", b"b", b"c", LARGE])
_TEXTS_AND_BAD = st.sampled_from([b"a", b"b", LARGE, BAD])


def _rows(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[Row]]:
    def event(op: str) -> st.SearchStrategy[list[Row]]:
        if op == "d":
            row = st.builds(Row, st.just(op), _IDS)
        else:
            new_id = st.none() | _IDS if op == "u" else st.none()
            row = st.builds(Row, st.just(op), _IDS, texts, new_id)
        return st.lists(row, min_size=1, max_size=4)

    return st.sampled_from("cud").flatmap(event)


def _transactions(
    texts: st.SearchStrategy[bytes],
) -> st.SearchStrategy[list[list[tuple[str, list[Row]]]]]:
    event = st.tuples(st.sampled_from(["t", "u"]), _rows(texts))
    return st.lists(st.lists(event, min_size=1, max_size=3), min_size=1, max_size=6)


def _delivered(policy: str, transactions: list[list[tuple[str, list[Row]]]], cut: int) -> Run:
    """Deliver transactions, with a restart behind `cut` of them."""
    kafka, log = Kafka(), Log()
    run = Run(kafka, log, policy)
    for number, events in enumerate(transactions):
        if number == cut:
            run = run.next_run(policy)
        log.transaction(*events)
        run.deliver()
    return run


@pytest.mark.parametrize("policy", ["fence-key", "fence-table"])
@settings(max_examples=EXAMPLES)
@given(transactions=_transactions(_TEXTS_AND_BAD), cut=st.integers(0, 6))
def test_what_is_not_published_is_kept(
    policy: str, transactions: list[list[tuple[str, list[Row]]]], cut: int
) -> None:
    kafka = _delivered(policy, transactions, cut).kafka
    rows = sum(len(rows) for events in transactions for _, rows in events)
    published = {row[:3] for table in "tu" for row in written_rows(kafka, table)}
    kept = kept_rows(kafka)
    assert len(set(kept)) == len(kept)
    assert len(published) + len(kept) == rows
    for table in "tu":
        assert sequences(kafka, table) == sorted(set(sequences(kafka, table)))


@settings(max_examples=EXAMPLES)
@given(transactions=_transactions(_TEXTS_AND_BAD), cut=st.integers(0, 6))
def test_nothing_overtakes_what_is_kept_of_its_key(
    transactions: list[list[tuple[str, list[Row]]]], cut: int
) -> None:
    kafka = _delivered("fence-key", transactions, cut).kafka
    fenced: set[tuple[str, int]] = set()
    expected: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, events in enumerate(transactions, 1):
        for table, rows in events:
            for index, row in enumerate(rows):
                names = {(table, key) for key in row.keys}
                if names & fenced or row.text in (BAD, LARGE):
                    fenced |= names
                else:
                    expected[table].append((number, index))
    for table in "tu":
        found = dict.fromkeys(
            (int(value["source"]["gtid"].rpartition(":")[2]), value["source"]["row"])
            for value in map(value_of, kafka.rows(table))
        )
        assert list(found) == list(dict.fromkeys(expected[table]))


@pytest.mark.parametrize("policy", ["fence-key", "fence-table"])
@settings(max_examples=EXAMPLES)
@given(transactions=_transactions(_TEXTS), cut=st.integers(0, 6), later=_transactions(_TEXTS))
def test_a_replay_ends_where_an_undisturbed_run_ends(
    policy: str,
    transactions: list[list[tuple[str, list[Row]]]],
    cut: int,
    later: list[list[tuple[str, list[Row]]]],
) -> None:
    run = _delivered(policy, transactions, cut).next_run(policy, ROOMY)
    kafka, undisturbed = run.kafka, Kafka()
    plain_log = Log()
    plain = Run(undisturbed, plain_log, "stop", record_bytes_max=ROOMY)
    for table in "tu":
        if run.fences.of("shop", table):
            run.replay(table)
    assert list(run.fences) == []
    for events in later:
        run.log.transaction(*events)
    run.deliver()
    for events in transactions + later:
        plain_log.transaction(*events)
    plain.deliver()
    for table in "tu":
        assert folded(kafka, table) == folded(undisturbed, table)
        assert sorted(written_rows(kafka, table)) == sorted(written_rows(undisturbed, table))
        assert sequences(kafka, table) == sorted(set(sequences(kafka, table)))
        assert _by_key(kafka, table) == _by_key(undisturbed, table)


def _by_key(kafka: Kafka, table: str) -> dict[bytes | None, list[tuple[str, int, int, str]]]:
    """Return what became of each key, in order."""
    found: dict[bytes | None, list[tuple[str, int, int, str]]] = defaultdict(list)
    for record, row in zip(kafka.rows(table), written_rows(kafka, table), strict=True):
        found[record.key].append(row)
    return found
