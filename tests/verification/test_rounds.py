"""What a comparison raises is a defect, unless the connections were closed under it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from verification.rounds import Rounds

if TYPE_CHECKING:
    from verification.pipeline import Pipeline
    from verification.table_comparison import TableComparison


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_fails_after_the_connections_were_closed_is_no_defect(*, is_closed: bool) -> None:
    def compared(*_: object) -> Any:
        pipeline.is_closed = is_closed
        message = "a connection is gone"
        raise RuntimeError(message)

    pipeline = SimpleNamespace(is_closed=False)
    comparison = SimpleNamespace(compared=compared, opened=None)
    defects: list[str] = []
    with Rounds(
        cast("Pipeline", pipeline),
        cast("TableComparison", comparison),
        None,
        lambda name, _: defects.append(name),
    ) as rounds:
        rounds._add_large(("shop", "orders"), None)
        ((_, result),) = rounds._ended(0, waits=True)
    assert (result.name, result.unsettled) == ("shop.orders", 1)
    assert defects == ([] if is_closed else ["shop.orders"])
