"""The records that say that all rows below them are gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from connector.errors import mirror_records
from connector.errors.message import Message
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.schema.sequence import Truncate

# The partition of truncates: they have no key.
TRUNCATES: Final = 0

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_jobs.apply.changes import Changes


def truncates_of(changes: Changes, places: NDArray[np.intp]) -> list[Truncate]:
    """Return the truncates at `places`.

    Raises WrongRecordError for one that does not say when the source committed it.
    """
    return [Truncate(changes.sequences.at(p), _committed(changes, p)) for p in places.tolist()]


def _committed(changes: Changes, place: int) -> int:
    try:
        source = json.loads(changes.values[place] or b"")["source"]
        return int(source["ts_us"]) if "ts_us" in source else int(source["ts_ms"]) * 1000
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        schema = changes.schema_ids[changes.schemas[place]]
        raise WrongRecordError(
            place, Message(mirror_records.NOT_JSON, {"schema": schema})
        ) from error
