"""A server that will not go on with its log is passed over for others, but not what is in the log.

What it says comes wherever a server may say it: before the first event, and behind each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.foundation.errors.message import Message
from connector.replication import answer_errors
from connector.stream.source import setup_errors
from tests.foundation.errors.texts import text_of
from tests.simulation.faults import AtCalls, Call, Fault, Undisturbed
from tests.simulation.run import SETTINGS, committed_progress, finish, prepare
from tests.simulation.story import Change, Story, Transaction, Unlogged
from tests.simulation.verdict import (
    Source,
    check_rising,
    check_same_changes,
    check_story,
    scenario,
    undisturbed,
)

if TYPE_CHECKING:
    from tests.simulation.log_writer import Flavour
    from tests.simulation.world import World

STORY = Story(
    tuple(Transaction((Change("orders", "c", number, "text"),)) for number in range(1, 5))
)
SEVERAL = SETTINGS.model_copy(
    update={"source": SETTINGS.source.model_copy(update={"failover_hosts": ["standby"]})}
)
# More than a run without faults receives.
RECEIVES_MAX = 40


class AtReceives:
    """Faults at what is received, by its number from 1."""

    lossy_percent = 0

    def __init__(self, faults: dict[int, Fault]) -> None:
        self._faults = faults
        self._count = 0

    def fault(self, step: int, call: Call) -> Fault | None:
        del step
        if call is not Call.RECEIVE:
            return None
        self._count += 1
        return self._faults.get(self._count)


def facts_of(server_uuid: str) -> dict[str, object]:
    return {
        "server": f"source {server_uuid}",
        "number": 1236,
        "said": "bogus data in log event",
    }


def refusal_of(server_uuid: str) -> str:
    return text_of(answer_errors.DAMAGED, **facts_of(server_uuid))


def damaged_at(flavour: Flavour, *receives: int) -> World:
    """Prepare a run by events, which are refused at some of what is received."""
    servers = scenario(STORY, Source(flavour), standby=True).servers
    plan = AtCalls(Call.RECEIVE, Fault.DAMAGED, *receives)
    return prepare(servers, plan, settings=SEVERAL, by_event=True)


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_the_other_server_goes_on_where_one_refuses(flavour: Flavour) -> None:
    chosen = scenario(STORY, Source(flavour), standby=True)
    expected = undisturbed(chosen)
    switched = 0
    for number in range(1, RECEIVES_MAX):
        world = damaged_at(flavour, number)
        finish(world)
        check_story(chosen, world.broker)
        check_rising(world.broker)
        check_same_changes(world.broker, expected)
        read = {progress.server_uuid for progress in committed_progress(world.broker)}
        assert len(world.processes) == 1
        switched += len(read) == 2
    assert switched > len(STORY.steps)


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_where_each_refuses_at_one_position_the_run_ends_with_what_each_said(
    flavour: Flavour,
) -> None:
    world = damaged_at(flavour, *range(1, 1000))
    with pytest.raises(SourceRefused) as caught:
        finish(world)
    uuids = [server.identity.server_uuid for server in scenario(STORY, standby=True).servers]
    problems = [Message(answer_errors.DAMAGED, facts_of(uuid)) for uuid in uuids]
    assert caught.value.text == text_of(setup_errors.NONE, problems=problems)
    # Each was read once.
    assert [progress.server_uuid for progress in committed_progress(world.broker)] == uuids


def test_a_server_is_asked_again_where_another_one_has_brought_the_stream_further() -> None:
    chosen = scenario(STORY, standby=True)
    # Behind the first one's refusal, the second one delivers a part of the story.
    plan = AtReceives({1: Fault.DAMAGED, 12: Fault.SILENCE, 13: Fault.DAMAGED})
    world = prepare(chosen.servers, plan, settings=SEVERAL, by_event=True)
    finish(world)
    check_story(chosen, world.broker)
    uuids = [progress.server_uuid for progress in committed_progress(world.broker)]
    first, second = (server.identity.server_uuid for server in chosen.servers)
    assert uuids[0] == uuids[-1] == first
    assert second in uuids


def test_one_server_alone_refuses_as_before() -> None:
    servers = scenario(STORY).servers
    world = prepare(servers, AtCalls(Call.RECEIVE, Fault.DAMAGED, 3), by_event=True)
    with pytest.raises(SourceRefused) as caught:
        finish(world)
    assert caught.value.text == refusal_of(servers[0].identity.server_uuid)


def test_what_is_in_the_log_leads_to_no_other_server() -> None:
    story = Story((*STORY.steps, Unlogged("orders")))
    servers = scenario(story, standby=True).servers
    world = prepare(servers, Undisturbed(), settings=SEVERAL)
    with pytest.raises(UnsupportedChange):
        finish(world)
    read = {progress.server_uuid for progress in committed_progress(world.broker)}
    assert read == {servers[0].identity.server_uuid}
