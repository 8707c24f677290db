"""Spark's JVM ignores SIGTERM; the job, which started it, stops it.

A supervisor or `timeout` sends SIGTERM to all processes of the job. The JVM would end at once, in
the middle of a batch, and the job could not stop cleanly. PySpark protects the JVM from SIGINT
alone. Signals that are ignored when a program starts stay ignored, also in a JVM. The JVM ends with
the job in any case: it reads the end of its standard input.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Spark starts Java by scripts of bash, which executes this file first.
_VARIABLE: Final = "BASH_ENV"


@contextmanager
def ignoring_sigterm() -> Iterator[None]:
    """Let the JVM that Spark starts meanwhile ignore SIGTERM, unless bash has a file already."""
    if _VARIABLE in os.environ:
        yield
        return
    with tempfile.NamedTemporaryFile("w", prefix="ignore-sigterm-", suffix=".sh") as script:
        script.write("trap '' TERM\n")
        script.flush()
        os.environ[_VARIABLE] = script.name
        try:
            yield
        finally:
            del os.environ[_VARIABLE]
