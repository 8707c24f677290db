"""What goes wrong, and when: at which of the calls that a run makes of its peers.

A plan is asked at every step. The same plan over the same story makes the same run, byte by byte.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


class Call(StrEnum):
    """Where something can go wrong."""

    TAKE_OVER = "take over"  # the transactional id
    ADMIN = "admin"  # a request of an admin client
    READ = "read"  # a request of a consumer
    METADATA = "metadata"  # who leads, who coordinates
    ADD = "add"  # partitions to a transaction
    PRODUCE = "produce"
    COMMIT = "commit"
    ABORT = "abort"
    CHOOSE = "choose"  # a connection that asks the source
    OPEN = "open"  # a connection that asks for a dump
    RECEIVE = "receive"
    SLEEP = "sleep"
    SELECT = "select"  # a statement of a session that copies, or its login


class Fault(StrEnum):
    """What can go wrong."""

    KILL = "kill"  # the process
    STOP = "stop"  # it is asked to stop
    STALL = "stall"  # it stands still for longer than any timeout
    RIVAL = "rival"  # another instance starts while this one stands still
    SWITCH = "switch"  # the other instance goes on while this one stands still
    REFUSED = "refused"  # the call fails before it has an effect
    DENIED = "denied"  # the login is refused, as while a password is changed
    OUTAGE = "outage"  # and that only after longer than any timeout
    LOST = "lost"  # the call has its effect, but the answer is lost
    MOVED = "moved"  # another broker leads or coordinates now
    LATE = "late"  # the request reaches Kafka later, when nobody waits for an answer
    CUT = "cut"  # the connection breaks, within an event
    CLOSED = "closed"  # the server closes the connection
    ERROR = "error"  # the server says that it shuts down
    DAMAGED = "damaged"  # the server says that its log is damaged
    SILENCE = "silence"  # nothing comes for a moment, though there is more
    HEARTBEAT = "heartbeat"  # one comes between two events
    FAILOVER = "failover"  # another server takes the place of this one


_ANYWHERE = (Fault.KILL, Fault.STOP, Fault.STALL)
_REQUEST = (Fault.REFUSED, Fault.LOST)

APPLICABLE: dict[Call, tuple[Fault, ...]] = {
    Call.TAKE_OVER: (*_ANYWHERE, *_REQUEST, Fault.DENIED),
    Call.ADMIN: (*_ANYWHERE, *_REQUEST),
    Call.READ: (*_ANYWHERE, Fault.REFUSED),
    Call.METADATA: (*_ANYWHERE, Fault.REFUSED, Fault.OUTAGE, Fault.MOVED),
    Call.ADD: (*_ANYWHERE, *_REQUEST, Fault.OUTAGE, Fault.MOVED, Fault.LATE),
    Call.PRODUCE: (*_ANYWHERE, *_REQUEST, Fault.OUTAGE, Fault.MOVED, Fault.LATE),
    Call.COMMIT: (*_ANYWHERE, *_REQUEST, Fault.OUTAGE, Fault.MOVED, Fault.LATE),
    Call.ABORT: (*_ANYWHERE, *_REQUEST, Fault.MOVED, Fault.LATE),
    Call.CHOOSE: (*_ANYWHERE, Fault.REFUSED, Fault.DENIED),
    Call.OPEN: (*_ANYWHERE, Fault.REFUSED, Fault.DENIED),
    Call.RECEIVE: (
        *_ANYWHERE,
        Fault.CUT,
        Fault.CLOSED,
        Fault.ERROR,
        Fault.SILENCE,
        Fault.HEARTBEAT,
    ),
    Call.SLEEP: (Fault.KILL, Fault.STOP),
    Call.SELECT: (*_ANYWHERE, *_REQUEST, *_REQUEST),
}


class Plan(Protocol):
    """Decides about each step."""

    # Of a hundred messages between the client and Kafka, how many are lost or come late.
    lossy_percent: int

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return what goes wrong at a step, counted from 1."""
        ...


class Undisturbed:
    """Nothing goes wrong; the calls are counted."""

    lossy_percent = 0

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return nothing."""
        del step
        self.calls.append(call)
        return None


class Single:
    """One fault at one step; more may be given as others."""

    lossy_percent = 0

    def __init__(self, *faults: tuple[int, Fault]) -> None:
        self._faults = dict(faults)

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return the fault of the step."""
        del call
        return self._faults.get(step)


class AtCalls:
    """One fault at some of the calls of one kind, by their numbers from 1."""

    lossy_percent = 0

    def __init__(self, call: Call, fault: Fault, *numbers: int) -> None:
        self._call = call
        self._fault = fault
        self._numbers = numbers
        self._count = 0

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return the fault, where it is one of those calls."""
        del step
        if call is not self._call:
            return None
        self._count += 1
        return self._fault if self._count in self._numbers else None


class Seeded:
    """Faults of all kinds up to a step, behind which everything goes well."""

    def __init__(
        self, random: Random, *, last_step: int, extra: Sequence[Fault] = (), percent: int = 0
    ) -> None:
        """Let `percent` of the steps fail, else a random part of them.

        `extra` faults, for which there has to be somebody else, may come at any step.
        """
        self._random = random
        self._last_step = last_step
        self._extra = list(extra)
        self._percent = percent or random.choice((1, 2, 4, 8))
        self.lossy_percent = random.choice((0, 0, 5, 20))
        self.happened: Counter[str] = Counter()
        self.stalled = False

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return what goes wrong, if anything does."""
        random = self._random
        if step > self._last_step:
            self.lossy_percent = 0
            return None
        if random.random() * 100 >= self._percent:
            return None
        fault = random.choice((*APPLICABLE[call], *self._extra))
        if fault is Fault.STALL and self.stalled:
            # A transaction that outlasts Kafka's twice is refused, and rightly so.
            return None
        self.stalled = self.stalled or fault is Fault.STALL
        self.happened[f"{call}: {fault}"] += 1
        return fault
