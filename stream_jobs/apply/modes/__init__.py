"""The modes of a mirror: which rows of its table it has. Each mode is a class.

A mode says which columns a mirror has besides the source's, and how changes become rows that are
added and rows that die. To add a mode, write its class and list it in `MODES`, which has the mode
of each name that `mode` in the settings of a table can have.
"""

from typing import Final

from stream_jobs.apply.modes.current import Current, SoftDelete
from stream_jobs.apply.modes.history import History
from stream_jobs.apply.modes.journal import Journal
from stream_jobs.apply.modes.mode import Mode
from stream_jobs.apply.modes.row_counts import RowCounts

MODES: Final[dict[str, Mode]] = {
    mode.name: mode for mode in (Current(), SoftDelete(), History(), Journal(), RowCounts())
}
