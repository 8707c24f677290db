"""The time at the beginning of a line for people."""

from __future__ import annotations

import time


def moment(seconds: float, is_terminal: bool) -> str:
    """Return the time of day here; of a line that is kept, date and time in UTC.

    `seconds` count from 1970. The connector's log has the same form as what is kept.
    """
    if is_terminal:
        return time.strftime("%H:%M:%S", time.localtime(seconds))
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
