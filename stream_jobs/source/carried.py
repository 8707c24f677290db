"""Errors that pass through Spark, which keeps the text of an exception alone.

An error of the stream's source is raised in another process, and the driver gets a text with a
stack trace. So the code and the facts are a part of that text,
after a secret that the two processes share: nobody else can write what the driver unpacks.
"""

from __future__ import annotations

import base64
import pickle
import re
from typing import Final

from connector.errors import ConnectorError

_PACKED: Final = "([A-Za-z0-9+/=]+)"


class CarriedError(Exception):
    """An error of the product, written so that `carried_by` finds it in any text."""

    def __init__(self, error: ConnectorError, secret: str) -> None:
        """Carry `error`."""
        packed = base64.b64encode(pickle.dumps(error)).decode()
        super().__init__(f"{error} {secret}:{packed}")


def carried_by(text: str, secret: str) -> ConnectorError | None:
    """Return the error that a text carries; None if it carries none."""
    found = re.search(f"{secret}:{_PACKED}", text)
    if found is None:
        return None
    error = pickle.loads(base64.b64decode(found[1]))  # noqa: S301  # only the job knows the secret
    return error if isinstance(error, ConnectorError) else None
