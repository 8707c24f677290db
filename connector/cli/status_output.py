"""How `status` shows what it has found, of one pipeline or of many: once, or until Ctrl-C."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from connector.cli.exit_codes import EXIT_DEFINITE, EXIT_GAVE_UP, say
from connector.foundation.errors.message import visible_json
from connector.stream.status.model import Level

# The exit code of a level.
CODES: Final = {Level.GOOD: 0, Level.WARNING: EXIT_GAVE_UP, Level.CRITICAL: EXIT_DEFINITE}
_LOOK_SECONDS = 2.0
# The width of the output if it is not a terminal.
_WIDTH = 160

_Facts = TypeVar("_Facts")


@dataclass(frozen=True, slots=True)
class StatusOutput(Generic[_Facts]):
    """The forms of what is shown: for a terminal of some width, and as JSON."""

    look: Callable[[], _Facts]
    render: Callable[[_Facts, int], RenderableType]
    to_json: Callable[[_Facts], bytes]

    def show(self, *, as_json: bool, is_watching: bool) -> _Facts:
        """Show what `look` returns, once or until Ctrl-C; return the last of it."""
        # Its width is that of the terminal, or of a pipe.
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _WIDTH
        facts = self.look()
        if not is_watching:
            self._print(console, facts, as_json=as_json)
            return facts
        try:
            if as_json or not console.is_terminal:
                while True:
                    self._print(console, facts, as_json=as_json)
                    time.sleep(_LOOK_SECONDS)
                    facts = self.look()
            shown = self.render(facts, console.width)
            with Live(shown, console=console, screen=True, auto_refresh=False) as live:
                while True:
                    time.sleep(_LOOK_SECONDS)
                    facts = self.look()
                    live.update(self.render(facts, console.width), refresh=True)
        except KeyboardInterrupt:
            return facts

    def _print(self, console: Console, facts: _Facts, *, as_json: bool) -> None:
        if as_json:
            say(visible_json(json.loads(self.to_json(facts))))
        else:
            console.print(self.render(facts, console.width))
