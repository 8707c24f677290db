"""What the processes of `forked_command` have in common, made once before they are forked.

Of the 0.6 seconds of processor time that `verify` takes for two rows, 0.4 are the import of Arrow
and NumPy. The rest of a short command is the tree of all commands, the search for extension
modules, and the pages that the garbage collector copies because it writes to them.
"""

from __future__ import annotations

import gc
import os
from functools import cache
from importlib import import_module

import typer.main

from connector.foundation import compiled
from tests.application import app

# What commands import while they run.
_IMPORTED = (
    "connector.cli.check",
    "connector.cli.daemon_log",
    "connector.cli.verify_mirror",
    "connector.cli.verify_mirror",
    "connector.logs.dump.dump",
    "connector.logs.dump.jobs",
    "connector.logs.output",
    "connector.logs.progress_bar",
    "connector.logs.flashback.undo",
    "connector.stream.quarantine.topics",
    "connector.stream.quarantine.topics",
    "connector.stream.run.supervisor",
    "connector.foundation.settings.configuration",
    "connector.stream.snapshot.copy_requests",
    "connector.logs.log_counts",
    "connector.logs.statistics_report",
    "encodings.idna",
    "numpy.ma",
    "verification.continuous_run",
    "verification.metrics",
    "verification.run",
    "verification.key_ranges",
)
# NumPy would start threads, which no fork copies.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
for name in _IMPORTED:
    import_module(name)
# Typer makes all commands anew at each call.
typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
compiled.sources = cache(compiled.sources)
compiled.sources()
gc.collect()
gc.freeze()
