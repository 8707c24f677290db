"""Until when a stream or a mirror has caught up, by how fast what is left becomes less."""

from __future__ import annotations

from connector.foundation.metrics import CatchUpEstimate


def test_it_is_the_rest_at_the_speed_of_the_last_minute() -> None:
    catch_up = CatchUpEstimate()
    said = [catch_up.note(at, 10_000 - 10 * at) for at in range(0, 200, 5)]
    assert said[:2] == [None, None]
    assert said[2:] == [1_000 - at for at in range(10, 200, 5)]
    # It is slower now; after a minute, the old speed does not count any more.
    left = [8_050 - at for at in range(5, 90, 5)]
    slow = [catch_up.note(200 + number * 5, each) for number, each in enumerate(left)]
    assert slow[-1] == left[-1]


def test_it_is_not_known_while_more_comes_than_goes() -> None:
    catch_up = CatchUpEstimate()
    assert [catch_up.note(at, 100 + at) for at in range(0, 60, 5)] == [None] * 12


def test_nothing_is_left_to_wait_for_once_everything_is_there() -> None:
    catch_up = CatchUpEstimate()
    for at in range(0, 60, 5):
        catch_up.note(at, 100 - at)
    assert catch_up.note(60, 0) == 0
    # What comes then has a speed of its own.
    assert catch_up.note(65, 500) is None


def test_a_clock_that_goes_back_begins_anew() -> None:
    catch_up = CatchUpEstimate()
    for at in range(0, 60, 5):
        catch_up.note(at, 100 - at)
    assert catch_up.note(3, 40) is None
