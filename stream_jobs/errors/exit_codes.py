"""How a process of the mirror ends. A code needs an action of a supervisor that others do not."""

from typing import Final

OK: Final = 0  # also after SIGTERM
FAILED: Final = 1  # starting again may help
CONFIG: Final = 2  # the configuration or the arguments are wrong, or a package is missing
REFUSED: Final = 3  # the mirror, or the replica, belongs to another process
# Of `status`, which has OK and CONFIG, too.
LATE: Final = 1  # records have waited for long, or nobody answers
SET_ASIDE: Final = 3  # a table cannot go on
NO_JOB: Final = 4  # the job does not run
