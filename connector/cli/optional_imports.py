"""Libraries are imported without what they use only if it is there."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def import_structlog() -> None:
    """Import structlog without rich, unless one of them is imported already.

    structlog prints tracebacks by rich where it finds it. The daemon logs no traceback, and rich
    with what it imports takes 35 ms and 4 MB.
    """
    modules: dict[str, Any] = sys.modules
    if "rich" in modules or "structlog" in modules:
        return
    # With None there, an import raises ImportError.
    modules["rich"] = None
    try:
        import_module("structlog")
    finally:
        del modules["rich"]
