"""Commands whose options are grouped into records: one parameter for each group.

::

    class Reading(NamedTuple):
        verify_checksum: VerifyChecksum = True

    @grouped
    def stat(*, logs: LogNames = None, reading: Reading) -> None: ...

Options are read as if the function had a parameter for each field of its records; then it is called
with the records. Typer does that, or `connector.cli.plain`. A record is a named tuple, which takes
a seventh of the time of a frozen dataclass to make.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

from connector.cli.declared import Declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The default of a parameter that must be given.
REQUIRED: Final = object()


class Parameter(NamedTuple):
    """A parameter of a command, or a field of its records."""

    name: str
    annotation: Any
    default: Any  # REQUIRED without


class Grouped:
    """A command with groups of options."""

    def __init__(self, command: Callable[..., None]) -> None:
        """Take the options of `command`, all by name, from its annotations at their first use."""
        self._command = command

    def parameters(self) -> Iterator[Parameter]:
        """Yield each parameter, and each field of a record instead of that record."""
        defaults = self._command.__kwdefaults__ or {}
        for name, hint in self._hints().items():
            if _is_record(hint):
                in_record = hint._field_defaults
                for field, its_hint in get_type_hints(hint, include_extras=True).items():
                    yield Parameter(field, its_hint, in_record.get(field, REQUIRED))
            else:
                yield Parameter(name, hint, defaults.get(name, REQUIRED))

    def __call__(self, **options: Any) -> None:
        """Run the command; options that are not given have their defaults."""
        arguments = dict(options)
        for name, group in self._hints().items():
            if _is_record(group):
                given = [each for each in group._fields if each in arguments]
                arguments[name] = group(**{each: arguments.pop(each) for each in given})
        self._command(**arguments)

    def for_typer(self) -> Callable[..., None]:
        """Return a function with a parameter for each option, as typer needs it."""
        from inspect import Parameter as Named  # noqa: PLC0415  # for typer alone
        from inspect import Signature  # noqa: PLC0415  # for typer alone

        def called(**options: Any) -> None:
            self(**options)

        named = [
            Named(
                each.name,
                Named.KEYWORD_ONLY,
                default=Named.empty if each.default is REQUIRED else each.default,
                annotation=_for_typer(each.annotation),
            )
            for each in self.parameters()
        ]
        called.__name__ = self._command.__name__
        called.__doc__ = self._command.__doc__
        called.__signature__ = Signature(named)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in named}
        return called

    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self._command, include_extras=True)
        del hints["return"]
        return hints


def grouped(command: Callable[..., None]) -> Grouped:
    """Return `command` with an option for each field of its records."""
    return Grouped(command)


def _for_typer(annotation: Any) -> Any:
    """Return an annotation with what typer knows instead of what was declared."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *others = get_args(annotation)
    told = [each.for_typer() if isinstance(each, Declared) else each for each in others]
    return Annotated[(kind, *told)]


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple)
