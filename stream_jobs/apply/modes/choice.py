"""The mode of each name that `mode` in the settings of a table can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_jobs.apply.modes.current import Current
from stream_jobs.apply.modes.history import History
from stream_jobs.apply.modes.journal import Journal
from stream_jobs.apply.modes.row_counts import RowCounts
from stream_jobs.apply.modes.soft_delete import SoftDelete

if TYPE_CHECKING:
    from stream_jobs.apply.modes.mode import Mode

MODES: Final[dict[str, Mode]] = {
    mode.name: mode for mode in (Current(), SoftDelete(), History(), Journal(), RowCounts())
}
