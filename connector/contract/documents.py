"""JSON that another program may have written."""

from __future__ import annotations

import json
from typing import Any


def read_document(text: str | bytes) -> Any:
    """Return the value of a JSON text; raises ValueError for any other text.

    Python's reader ends with a RecursionError where a text is nested deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        reason = "it is nested too deeply"
        raise ValueError(reason) from error
