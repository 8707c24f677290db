"""How often Python searches for objects that only refer to each other.

A search looks at all objects that it does not know as old. A task of a thousand small tables makes
some hundred thousand of them, a worker keeps as many for the indexes of small files, and hardly any
of them is garbage: nearly everything is freed when nothing refers to it any more. With Python's
default, the search takes a fifth of the time of a batch of small tables.

https://docs.python.org/3/library/gc.html
"""

import gc
from itertools import count
from typing import Final

# New objects that were not freed, before the youngest ones are looked at. The driver has cycles of
# Spark, which keep objects of the JVM.
_OBJECTS: Final = 50_000
_OBJECTS_OF_WORKER: Final = 500_000
# After so many tasks, a worker looks at everything.
_TASKS: Final = 100

_tasks: Final = count(1)


def collect_garbage_rarely(*, is_worker: bool = False) -> None:
    """Leave alone what is there, which is mostly modules, and look seldom at what comes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_OF_WORKER if is_worker else _OBJECTS)


def leave_objects_of_task() -> None:
    """Leave alone what a worker has at the end of a task; after each hundredth one, look first.

    Spark searches after each task, which takes longer than a task of a few tables.
    """
    if not next(_tasks) % _TASKS:
        gc.unfreeze()
        gc.collect()
    gc.freeze()
