"""What the driver knows better than a task: whether a folder or a file is gone, or only unseen.

Somebody may have taken it away: then its table is set aside. But if the driver sees it, the machine
of the task does not see the storage, which concerns all tables.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stream_jobs.apply.task_messages import PartResult, Task
from stream_jobs.delta.actions import location_of
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.tables.table_work import Runner

_UNSEEN: Final = "a worker does not find it, and the driver does"


def as_seen_here(error: MirrorError, storage: Storage) -> MirrorError:
    """Return the `error` of a task, or that of its storage if this process sees what it missed.

    Raises MirrorError if the storage fails.
    """
    facts = error.message.facts
    if error.code == delta_errors.FOLDER_GONE:
        path = str(facts["folder"])
        is_seen = Path(path).is_dir()
    elif error.code == delta_errors.FILE_MISSING:
        path = str(facts["file"])
        is_seen = any(storage.open(name) is not None for name in {path, location_of(path)})
    else:
        return error
    return MirrorError(delta_errors.STORAGE_FAILED, path=path, said=_UNSEEN) if is_seen else error


def seen_here(run: Runner, storage: Storage) -> Runner:
    """Return `run` with the errors of its tasks as this process sees them in `storage`."""

    def run_tasks(tasks: Sequence[Task]) -> list[PartResult]:
        results = run(tasks)
        for result in results:
            if result.error is not None:
                result.error = as_seen_here(result.error, storage)
        return results

    return run_tasks
