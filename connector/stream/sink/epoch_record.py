"""The record by which the epochs of a topic prefix outlive the progress of its pipelines.

Consumers drop what does not sort after what they have. So a pipeline whose position is gone must
begin above every epoch that was ever written, and it must not begin by itself. The progress topic
may be deleted, and a record removed from it. So the fences topic has a second copy of the epoch:
its key is `/` and the name of the pipeline, which no key of a fence begins with, and its value is
`{"epoch": 3}`. The first commit of each process writes it, and each commit of a new epoch.
"""

import json
from collections.abc import Mapping

from connector.foundation.errors import DecodeError
from connector.stream.progress import progress_errors

_KEY_PREFIX = "/"


def epoch_key(name: str) -> bytes:
    """Return the key of the record of pipeline `name`."""
    return f"{_KEY_PREFIX}{name}".encode()


def epoch_value(epoch: int) -> bytes:
    """Return the value of the record."""
    return json.dumps({"epoch": epoch}).encode()


def decode_epochs(topic: str, values: Mapping[str, bytes]) -> list[int]:
    """Return the epochs of all pipelines from the `values` of a fences topic, by their keys.

    Raises DecodeError for a record of another version.
    """
    return [
        _epoch(f"{topic}: {key}", value)
        for key, value in values.items()
        if key.startswith(_KEY_PREFIX)
    ]


def _epoch(record: str, value: bytes) -> int:
    try:
        return int(json.loads(value)["epoch"])
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(progress_errors.EPOCH, record=record, why=repr(error)) from error
