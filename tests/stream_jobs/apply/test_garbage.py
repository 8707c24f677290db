from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, weakref
from stream_jobs.apply.garbage import collect_garbage_rarely, leave_objects_of_task

class Node:
    pass

def cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)

collect_garbage_rarely(is_worker=True)
of_task, kept = cycle(), [Node() for _ in range(1000)]
leave_objects_of_task()
# As Spark does after each task.
gc.collect()
print(of_task() is not None, sum(isinstance(each, Node) for each in gc.get_objects()))
free, kept = weakref.ref(kept[0]), None
print(free() is None)
for _ in range(98):
    leave_objects_of_task()
print(of_task() is not None)
leave_objects_of_task()
print(of_task() is None)
"""


def test_what_a_task_leaves_is_looked_at_after_each_hundredth_one() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n") == ["True 0", "True", "True", "True", ""]
