"""The error that has ended the job, as a message for people."""

from __future__ import annotations

import re

from connector.errors import ConnectorError, mirror
from connector.errors.message import Message
from stream_jobs.source.carried import carried_by


def message_of(error: BaseException, secret: str = "") -> Message:
    """Return the message of an error; of Spark's errors without plans and stack traces.

    With a `secret`, a Spark error may carry an error of the product.
    """
    if isinstance(error, ConnectorError):
        return error.message
    carried = carried_by(str(error), secret) if secret else None
    if carried is not None:
        return carried.message
    text = re.split(r"\s*(?:SQLSTATE: \w+|=== Streaming Query|JVM stacktrace:)", str(error))[0]
    return Message(mirror.SPARK_FAILED, {"kind": type(error).__name__, "said": text})
