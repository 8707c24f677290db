"""The source of a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.lake.shop import Shop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server


@pytest.fixture
def shop(mysql_server: Server) -> Iterator[Shop]:
    own = Shop(mysql_server)
    yield own
    own.drop()
