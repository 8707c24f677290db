"""Where tests lie: those that need servers in `tests/integration`, the others beside their room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests import selection

if TYPE_CHECKING:
    import pytest


def test_tests_that_need_servers_are_those_of_the_folder_integration(
    request: pytest.FixtureRequest,
) -> None:
    """Every test that is collected now: all of them, if pytest is given no paths."""
    wrong = {
        item.nodeid
        for item in request.session.items
        if selection.needs_servers(item)
        != item.path.is_relative_to(selection.PROJECT / selection.SERVERS)
    }
    assert wrong == set()
