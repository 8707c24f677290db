"""Values of rows as a report shows them: in JSON, for people, or as hashes."""

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from typing import Any, Final

_HASH_BYTES: Final = 8
# Of this process: equal values have equal hashes in one report, and nobody can try values.
_KEY: Final = secrets.token_bytes(16)


def visible_values(
    values: Mapping[str, object] | None, *, with_values: bool
) -> dict[str, Any] | None:
    """Return values as they are in JSON; without values, hashes of them."""
    if values is None:
        return None
    return {name: _value(value, with_values=with_values) for name, value in values.items()}


def _value(value: object, *, with_values: bool) -> object:
    if value is None:
        return None
    if not with_values:
        return hashlib.blake2b(repr(value).encode(), key=_KEY, digest_size=_HASH_BYTES).hexdigest()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: _value(part, with_values=True) for name, part in value.items()}
    if isinstance(value, list):
        return [_value(part, with_values=True) for part in value]
    return str(value)


def values_text(values: Mapping[str, Any] | None) -> str:
    """Return what people read of `visible_values`."""
    return json.dumps(values, ensure_ascii=False)
