"""A code of the catalogue: one thing that can go wrong, and the templates of its text.

A code is a letter for the origin of the error, and a number. It never changes its meaning, and its
number is never used again.

=== ==============================================================
 C  the configuration, or the arguments of a command
 S  the source: its network, login, settings, logs and GTIDs
 L  the bytes of a log, of a payload or of a conversation
 T  tables: their schemas, and changes that cannot be published
 K  Kafka
 R  commands about a pipeline: `snapshot`, `quarantine`, `verify`
 M  the mirror: the Spark job
 V  `verify`, which compares tables with their mirrors
 P  private servers of the local stack
=== ==============================================================

In a template, a name in braces is a fact, which the call site gives: `{table}`. A name with a dot
is a setting: `{source.user}`. A reader that was opened by a URL has no settings, so `message.py`
names the part of the URL instead. `{problems:lines}` puts each member of a fact on its own line,
and keeps the lines of a text; the members of other facts are joined by commas.

Things that can go wrong in many ways, and for which one does the same, are a group: one code with
reasons. A reason (`because`) has the number of its group, and its own text in place of `{reason}`.

A frame says where another error happened: `table erp.orders, {why}`. The shown code is that of
`why`, the error inside of the frame. `{why:what}` leaves out the fix of that error. A clause is a
part of the texts of other codes. Both are never shown alone, so they have no number.
"""

from collections.abc import Mapping
from enum import Enum
from functools import partial
from string import Formatter
from typing import Final, NamedTuple

# Nobody changes it. A proxy could not be sent to another process.
_NONE: Final[Mapping[str, object]] = {}


class End(Enum):
    """How an error ends a command: the exit code, or what happens instead."""

    CONFIGURATION = "2"  # a ConfigError: nothing was done
    DEFINITE = "3"  # every other DefiniteError: a restart cannot help
    PASSING = "3, later"  # a DefiniteError that may pass: 3 after retry.refused_seconds
    INTERRUPTED = "130"  # a DefiniteError of a process that was told twice to stop
    RETRIED = "retried"  # a TransientError: 1 after retry.attempts_max attempts
    COMMAND = "1"  # a command has waited too long
    FAILED = "failed"  # the demo or the Spark job: its exit code is 1
    LOGGED = "goes on"  # not raised: a log line


class Scope(Enum):
    """What of a running pipeline, or of the Spark job, cannot go on after an error.

    An error of one table never ends the process, unless the user wants that (`quarantine.policy`):
    all other tables go on.
    """

    PROCESS = "process"  # the stream itself: its position, the source, Kafka, the account, settings
    TABLE = "table"  # a table, or a single row, record, name, copy or request of it
    PLACE = "place"  # a table in its rows and its topic, the process elsewhere


# A NamedTuple, because every command has codes: dataclasses take as long to import as all of them.
class ErrorCode(NamedTuple):
    """One thing that can go wrong.

    `what` says where and what, `fix` what to do; an empty `fix` means that nothing has to be done.
    `scope` says what else goes on if it happens in a stream or in the Spark job.
    `cause` is the explanation that `binlog-connector explain` prints. `example` has values for
    facts of both templates that `catalogue.EXAMPLES` does not have, or not well. `url_fix` replaces
    `fix` for a reader that was opened by a URL. `fence_fix` replaces it for a change in quarantine;
    if it is empty, the user only has to lift the fence. A `frame` only adds where. A `passable`
    change can be skipped: the fix is to continue after its transaction. A reason has its `group`.
    `was` has the numbers, with spaces between them, that this replaced.
    """

    code: str
    what: str
    fix: str = ""
    end: End = End.DEFINITE
    scope: Scope = Scope.PROCESS
    cause: str = ""
    example: Mapping[str, object] = _NONE
    url_fix: str | None = None
    fence_fix: str | None = None
    passable: bool = False
    frame: bool = False
    group: "ErrorCode | None" = None
    was: str = ""

    def because(self, reason: str, *, was: str = "", **words: str) -> "ErrorCode":
        """Return a reason of this group; `words` replace their names in the fixes."""

        def filled(template: str) -> str:
            for name, word in words.items():
                template = template.replace(f"{{{name}}}", word)
            return template

        return self._replace(
            what=self.what.replace("{reason}", reason),
            fix=filled(self.fix),
            url_fix=None if self.url_fix is None else filled(self.url_fix),
            example=_NONE,
            group=self,
            was=was,
        )

    @property
    def facts(self) -> frozenset[str]:
        """The names of the facts in the templates."""
        return frozenset(
            name
            for template in self._templates
            for _, name, _, _ in Formatter().parse(template)
            if name and "." not in name
        )

    @property
    def settings(self) -> frozenset[str]:
        """The names of the settings in the templates, such as `source.user`."""
        return frozenset(
            name
            for template in self._templates
            for _, name, _, _ in Formatter().parse(template)
            if name and "." in name
        )

    @property
    def _templates(self) -> tuple[str, ...]:
        return self.what, self.fix, self.url_fix or "", self.fence_fix or ""

    def __str__(self) -> str:
        """Return the code, such as S101."""
        return self.code


def frame(what: str, fix: str = "", *, was: str = "") -> ErrorCode:
    """Return what says where the error `why` happened."""
    return ErrorCode("", what, fix, frame=True, was=was)


def clause(what: str, *, was: str = "") -> ErrorCode:
    """Return a part of the texts of other codes."""
    return ErrorCode("", what, was=was)


# Codes by what they end, and for whom.
configuration_error = partial(ErrorCode, end=End.CONFIGURATION)
transient_error = partial(ErrorCode, end=End.RETRIED)
table_error = partial(ErrorCode, scope=Scope.TABLE)
failure = partial(ErrorCode, end=End.FAILED)
table_failure = partial(ErrorCode, end=End.FAILED, scope=Scope.TABLE)
notice = partial(ErrorCode, end=End.LOGGED)
