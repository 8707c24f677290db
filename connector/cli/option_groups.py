"""Commands whose options are grouped into records: one parameter for each group.

::

    @dataclass(frozen=True)
    class Reading:
        verify_checksum: VerifyChecksum = True

    @grouped
    def stat(*, logs: LogNames = None, reading: Reading) -> None: ...

Typer reads options from the parameters of a function. `grouped` replaces each record by its fields
for typer, and calls the command with the records.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import Field


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` for typer: with an option for each field of its records."""
    hints = get_type_hints(command, include_extras=True)
    given = inspect.signature(command).parameters
    groups = {name: hints[name] for name in given if is_dataclass(hints[name])}
    parameters: list[inspect.Parameter] = []
    for name, parameter in given.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=_BY_NAME))

    def called(**options: Any) -> None:
        arguments = dict(options)
        for name, group in groups.items():
            arguments[name] = group(
                **{each.name: arguments.pop(each.name) for each in fields(group)}
            )
        command(**arguments)

    called.__name__ = command.__name__
    called.__doc__ = command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield inspect.Parameter(
            field.name, _BY_NAME, default=_default(field), annotation=hints[field.name]
        )


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
