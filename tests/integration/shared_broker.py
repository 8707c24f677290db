"""One broker for all workers of a run.

Four brokers take a fifth of the time of all tests with servers: each has to start, to compile its
own code, and to stay awake.
"""

from __future__ import annotations

from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_SH, LOCK_UN, flock
from typing import TYPE_CHECKING, Self

from local_stack import Endpoint, KafkaBroker
from local_stack.server import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SharedBroker(KafkaBroker):
    """A broker that the first worker starts that asks for it; it ends after the last one.

    So no test may stop it. Its folder is the same for all workers.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        directory.mkdir(parents=True, exist_ok=True)
        # Written while the broker runs.
        self._served = directory / "served"
        self._users = (directory / "users").open("w")

    def _shared_classes(self, *, writes: bool) -> tuple[str, ...]:  # noqa: ARG002 - it is killed
        """Leave the archive of classes to a broker that stops by itself, which writes it."""
        return super()._shared_classes(writes=False)

    def __enter__(self) -> Self:
        flock(self._users, LOCK_SH)
        with self._alone():
            if self._served.exists():
                self._endpoint = Endpoint(HOST, int(self._served.read_text()))
            else:
                self._served.write_text(str(self.start().port))
        return self

    def __exit__(self, *_: object) -> None:
        flock(self._users, LOCK_UN)
        if self._process is not None:
            # The other workers have theirs until they end.
            flock(self._users, LOCK_EX)
            with self._alone():
                self._served.unlink()
                self.kill()
        self._users.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.directory / "start").open("w") as turn:
            flock(turn, LOCK_EX)
            yield
