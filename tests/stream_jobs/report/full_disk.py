"""Fills the disk of a mirror while a run has it, lets the run fail, and prints what is known then.

It runs in a process of its own, on a file system of some kilobytes.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from connector.foundation.errors.message import Message
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.run.job_state import RunRecord


def main(root: Path) -> None:
    """Fill the disk at `root`."""
    storage = LocalStorage(str(root))
    record = RunRecord(storage, str(root), "processingTime")
    record.begin("an epoch")
    size = 65536
    while size:
        try:
            storage.write(f"filled-{size}", bytes(size))
        except MirrorError:
            size //= 2
        else:
            (root / f"filled-{size}").rename(root / f"{len(list(root.iterdir()))}")
    with suppress(MirrorError):
        storage.write("another", b"x")
        sys.exit("the disk is not full")
    record.failed(Message(job_errors.SPARK_FAILED, {"kind": "OSError", "said": "no space"}))
    run = record.newest()
    assert run is not None
    assert run.failure is not None
    print(json.dumps({"state": run.state, "code": run.failure.code}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
