"""Time, chance and the processes: only one of them runs at a time, and each step is counted.

A process is one run of the program in a thread of its own, which holds the baton or waits for it.
So two instances can be in the middle of anything at once, and the same seed gives the same run.
"""

from __future__ import annotations

import threading
from random import Random
from typing import TYPE_CHECKING, Self

from connector.foundation.errors import Superseded
from connector.foundation.operating_system import StopSignals
from tests.simulation.broker import Broker
from tests.simulation.faults import Call, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.simulation.faults import Plan
    from tests.simulation.server import ScriptedServer

# Longer than every timeout of the settings.
STALL_SECONDS = 200.0
_STEP_SECONDS = 0.004
_STEPS_MAX = 20_000
# No wait for the baton takes as long.
_HUNG_SECONDS = 60.0


class Killed(BaseException):
    """SIGKILL: nothing that the process does from here on reaches anybody."""


class Endless(AssertionError):
    """The run does not come to an end."""


class SimulatedStop(StopSignals):
    """Requests to stop that come from the plan, and sleep that takes no time."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self._patience_seconds = 0.0

    def await_data(self, descriptor: int, seconds: float) -> bool:
        """Let the receive that follows wait: it knows what comes, and when."""
        del descriptor
        self._patience_seconds = seconds
        return True

    def take_patience(self) -> float:
        """Return how many seconds the receive may wait."""
        seconds, self._patience_seconds = self._patience_seconds, 0.0
        return seconds

    def sleep(self, seconds: float) -> None:
        """Let the world's time go by."""
        if not self.requested:
            self._process.step(Call.SLEEP)
            self._process.world.pass_time(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was installed."""


class Process:
    """One run of the program."""

    def __init__(self, world: World, number: int, run: Callable[[Process], None]) -> None:
        self.world = world
        self.number = number
        self.stop = SimulatedStop(self)
        self.pipelines = 0  # that were opened after the last fault
        self.had_rival = False  # that ran at the same time
        self.ended = False
        self.outcome: BaseException | None = None
        self._dead = False
        self._run = run
        self._baton = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._body, daemon=True)

    @property
    def killed(self) -> bool:
        """Whether it was killed."""
        return self._dead

    def step(self, call: Call) -> Fault | None:
        """Pass a point where something may go wrong; return what the caller has to do about it."""
        if self._dead:
            raise Killed
        world = self.world
        fault = world.fault(call)
        if fault is Fault.KILL:
            self._dead = True
            raise Killed
        if fault is Fault.STOP:
            self.stop.requested = True
        elif fault is Fault.STALL:
            world.pass_time(STALL_SECONDS)
        elif fault is Fault.OUTAGE:
            world.pass_time(STALL_SECONDS)
            return Fault.REFUSED
        elif fault is Fault.FAILOVER:
            world.fail_over()
        elif fault in (Fault.RIVAL, Fault.SWITCH):
            if fault is Fault.RIVAL:
                world.start_rival()
            self.wait()
        else:
            return fault
        return None

    def resume(self) -> None:
        """Give it the baton."""
        if not self._thread.is_alive():
            self._thread.start()
        self._baton.release()

    def wait(self) -> None:
        """Return the baton, and wait until it comes back."""
        self.world.returned.release()
        if not self._baton.acquire(timeout=_HUNG_SECONDS):
            raise Killed

    def _body(self) -> None:
        self._baton.acquire()
        try:
            self._run(self)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001  # whoever waits for the end raises it
            self.outcome = error
        self.ended = True
        self.world.returned.release()


class World:
    """Everything around the processes."""

    def __init__(
        self,
        plan: Plan,
        seed: int,
        servers: Sequence[ScriptedServer],
        run: Callable[[Process], None],
    ) -> None:
        """Run processes by `run`, as `plan` has it; the first of `servers` is the source."""
        self.plan = plan
        self.server = servers[0]
        self._servers = servers
        self.random = Random(seed)
        self.broker = Broker()
        self.now = 1000.0
        self.steps = 0
        self.last_fault = 0  # step of it
        self.processes: list[Process] = []
        self.finished: Callable[[], bool] = lambda: False
        self.returned = threading.Semaphore(0)
        self._run = run
        self._live: list[Process] = []
        self._next: Process | None = None

    def fault(self, call: Call) -> Fault | None:
        """Count a step, and return what goes wrong at it."""
        self.steps += 1
        if self.steps > _STEPS_MAX:
            reason = f"{_STEPS_MAX} steps, and no end"
            raise Endless(reason)
        self.pass_time(_STEP_SECONDS * self.random.random())
        fault = self.plan.fault(self.steps, call)
        if fault is Fault.RIVAL and len(self._live) > 1:
            fault = Fault.SWITCH
        elif fault is Fault.SWITCH and len(self._live) == 1:
            return None
        if fault is not None:
            self.last_fault = self.steps
            for process in self.processes:
                process.pipelines = 0
        return fault

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.now += seconds
        self.broker.pass_time(seconds)

    def fail_over(self) -> None:
        """Let the next server be the source."""
        self.server = self._servers[(self._servers.index(self.server) + 1) % len(self._servers)]

    def start_rival(self) -> None:
        """Start another process beside those that run."""
        self._next = self._start()

    def until_finished(self) -> None:
        """Run processes, a new one after each that ends, until everything is delivered.

        Raises what a process ended with, unless it was fenced by another.
        """
        current = self._start()
        while True:
            current.resume()
            assert self.returned.acquire(timeout=_HUNG_SECONDS), "a process hangs"
            if current.ended:
                self._live.remove(current)
                if current.outcome is not None:
                    self._bury(current)
                if not self._live:
                    if self.finished() and not current.killed:
                        return
                    self._start()
                current = self._live[-1]
                self._next = None
            else:
                # It stands still: the one that waits longest, or the new one, goes on.
                self._live.remove(current)
                self._live.append(current)
                current = self._next or self._live[0]
                self._next = None

    def _start(self) -> Process:
        process = Process(self, len(self.processes), self._run)
        self.processes.append(process)
        self._live.append(process)
        if len(self._live) > 1:
            for one in self._live:
                one.had_rival = True
        return process

    def _bury(self, process: Process) -> None:
        assert process.outcome is not None
        if not (isinstance(process.outcome, Superseded) and process.had_rival):
            raise process.outcome
