"""What the processes of `forked_command` have in common, made once before they are forked.

Of the 0.6 seconds of processor time that `verify` takes for two rows, 0.4 are the import of Arrow
and NumPy. The rest of a short command is the search for extension modules, and the pages that the
garbage collector copies because it writes to them.
"""

from __future__ import annotations

import gc
import os
from functools import cache
from importlib import import_module

from connector.foundation import compiled

# What commands import while they run.
_IMPORTED = (
    "connector.cli.check",
    "connector.cli.commands",
    "connector.cli.configuration",
    "connector.cli.quarantine",
    "connector.cli.run",
    "connector.cli.snapshot",
    "connector.cli.status",
    "connector.cli.verify",
    "connector.cli.verify_mirror",
    "connector.logs.dump.dump",
    "connector.logs.dump.jobs",
    "connector.logs.output",
    "connector.logs.progress_bar",
    "connector.logs.flashback.undo",
    "connector.logs.log_counts",
    "connector.logs.statistics_report",
    "encodings.idna",
    "numpy.ma",
)
# NumPy would start threads, which no fork copies.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
for name in _IMPORTED:
    import_module(name)
compiled.sources = cache(compiled.sources)
compiled.sources()
gc.collect()
gc.freeze()
