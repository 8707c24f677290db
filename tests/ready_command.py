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

from connector import compiled
from tests.application import app

# What commands import while they run.
_IMPORTED = (
    "connector.cli.check",
    "connector.cli.logs",
    "connector.cli.verify_forever",
    "connector.cli.verify_mirror",
    "connector.dump.dump",
    "connector.dump.jobs",
    "connector.dump.lines.output",
    "connector.dump.progress",
    "connector.flashback.undo",
    "connector.quarantine.committed_fences",
    "connector.quarantine.topic_reader",
    "connector.run.supervisor",
    "connector.settings.loader",
    "connector.snapshot.copy_request",
    "connector.stat.log_counts",
    "connector.stat.report",
    "encodings.idna",
    "numpy.ma",
    "verification.forever",
    "verification.health",
    "verification.run",
    "verification.sample",
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
