"""The order of the commands, and the answer to an unknown name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from connector.errors import options
from connector.errors.message import Message
from connector.settings.nearest import nearest

if TYPE_CHECKING:
    from typer import Context

# `states` is not a typing error for `stat`, although the two have a similarity of 0.8.
_NEAR = 0.81


class Commands(TyperGroup):
    """Commands in the order in which they were added."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; if there is none, list all."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            meant = nearest(name, known, _NEAR)
            message = Message(options.UNKNOWN_COMMAND, {"name": name, "known": known})
            if meant is not None:
                facts = {"name": name, "known": known, "meant": meant}
                message = Message(options.UNKNOWN_COMMAND_MEANT, facts)
            context: Context = ctx
            context.fail(str(message))
        return super().resolve_command(ctx, args)
