"""One look serves all threads that wait for it.

Whoever asks gets an answer that was looked for after the question. While one thread looks, the
questions of others gather, and the next look answers all of them.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Final, Generic, Self, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class _Round(Generic[Question, Answer]):
    """The questions of one look, and what became of it."""

    def __init__(self) -> None:
        self.questions: set[Question] = set()
        self.answers: Mapping[Question, Answer] = {}
        self.error: BaseException | None = None
        self.is_over = False


class SharedLook(Generic[Question, Answer]):
    """Answers questions of several threads together."""

    def __init__(self, look: Callable[[Collection[Question]], Mapping[Question, Answer]]) -> None:
        """`look` returns the answers to some questions; one thread at a time calls it."""
        self._look = look
        self._changed = threading.Condition()
        self._next: _Round[Question, Answer] = _Round()
        self._is_looking = False

    def ask(self, question: Question) -> Answer:
        """Return the answer to a question; raises what the look raises."""
        return self.ask_all((question,))[question]

    def ask_all(self, questions: Collection[Question]) -> Mapping[Question, Answer]:
        """Return answers, those to `questions` among them; raises what the look raises."""
        with self._changed:
            own = self._next
            own.questions.update(questions)
            while self._is_looking and not own.is_over:
                self._changed.wait()
            is_own_turn = not own.is_over
            if is_own_turn:
                self._is_looking = True
                self._next = _Round()
        if is_own_turn:
            self._answer(own)
        if own.error is not None:
            raise own.error
        return own.answers

    def _answer(self, own: _Round[Question, Answer]) -> None:
        try:
            own.answers = self._look(own.questions)
        except BaseException as error:  # noqa: BLE001 - each thread that has asked raises it
            own.error = error
        finally:
            with self._changed:
                own.is_over = True
                self._is_looking = False
                self._changed.notify_all()


def result_of(begun: Future[Answer]) -> Answer:
    """Return what another thread finds; a signal ends the wait for it."""
    while not begun.done():
        # Without a limit, no signal would.
        wait((begun,), 1.0)
    return begun.result()


Resource = TypeVar("Resource")
_CLOSED: Final = "the connections were closed"


class Lender(Generic[Resource]):
    """Lends connections to threads, at most some at a time; a context manager closes them."""

    def __init__(
        self,
        opened: Callable[[], Resource],
        close: Callable[[Resource], None],
        most: int,
        is_usable: Callable[[Resource], bool] = lambda _: True,
    ) -> None:
        """Open a connection when all others are lent; one that is not usable is lent no more."""
        self._open = opened
        self._close = close
        self._is_usable = is_usable
        self._free = threading.Semaphore(most)
        self._turn = threading.Lock()
        self._idle: list[Resource] = []
        self._lent: list[Resource] = []
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def lent(self) -> Iterator[Resource]:
        """Lend a connection for the length of a block; after an error it is closed.

        A thread that has one must not ask for another one. Raises what opening raises, and
        RuntimeError after `close`.
        """
        with self._free:
            resource = self._taken()
            is_kept = False
            try:
                yield resource
                is_kept = True
            except GeneratorExit:
                # A reader that does not want the rest.
                is_kept = True
                raise
            finally:
                self._take_back(resource, is_kept=is_kept)

    def close(self) -> None:
        """Close all connections: what still uses one fails."""
        with self._turn:
            self._is_closed = True
            every = [*self._idle, *self._lent]
            self._idle.clear()
        for resource in every:
            self._close(resource)

    def _taken(self) -> Resource:
        with self._turn:
            self._refuse_closed()
            resource = self._idle.pop() if self._idle else None
        if resource is None:
            resource = self._open()
        with self._turn:
            self._lent.append(resource)
            self._refuse_closed()
        return resource

    def _take_back(self, resource: Resource, *, is_kept: bool) -> None:
        with self._turn:
            self._lent.remove(resource)
            is_kept = is_kept and not self._is_closed and self._is_usable(resource)
            if is_kept:
                self._idle.append(resource)
        if not is_kept:
            self._close(resource)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError(_CLOSED)
