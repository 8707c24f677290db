"""Plants the bug into each Python process of a job that has this folder in PYTHONPATH."""

import os
from pathlib import Path

from stream_jobs.apply.changes import Changes
from tests.chaos.mirror.planted.dropped_updates import dropping

Changes.last_of_keys = dropping(Path(os.environ["PLANTED_BUG"]))  # type: ignore[assignment,method-assign]
