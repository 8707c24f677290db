"""What the processes of `forked_command` have in common, made once before they are forked.

Of the 0.6 seconds of processor time that `verify` takes for two rows, 0.4 are the import of Arrow
and NumPy. The rest of a short command is the search for extension modules, what kafka-python
compiles for each message, and the pages that the garbage collector copies because it writes to
them.
"""

from __future__ import annotations

import gc
import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafka.protocol.api_message import ApiMessage

from connector.foundation import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def _messages(kind: Any) -> Iterator[Any]:
    for message in kind.__subclasses__():
        yield message
        yield from _messages(message)


def _compile(message: Any) -> None:
    """Have kafka-python compile the newest version of a message: brokers of tests know it."""
    version = message.max_version
    is_flexible = message.flexible_version_q(version)
    if message.is_request():
        message._struct.compiled_encode_into(version, compact=is_flexible, tagged=is_flexible)
    else:
        message._struct.compiled_decode_from(
            version, compact=is_flexible, tagged=is_flexible, data_class=message[None]
        )


# NumPy would start threads, which no fork copies.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
for name in _IMPORTED:
    import_module(name)
for message in set(_messages(ApiMessage)):
    _compile(message)
compiled.sources = cache(compiled.sources)
compiled.sources()
compiled.mode()
gc.collect()
gc.freeze()
