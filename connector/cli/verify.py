"""`verify`: compares what the pipeline has delivered with the source.

Each way of comparing has its own options; an option without an effect is refused.
"""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from connector.cli import command_errors
from connector.cli.configuration import configure_logging
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings
from verification.process_folder import process_folder

# How fast the source is read, and which tables of a pipeline.
_PACED: Final = frozenset({"pace", "rows_per_second", "patience"})
_READ: Final = _PACED | {"tables"}
_COMPARED: Final = _READ | {"max_differences", "repair", "state"}
# `since` is of the mirror alone: what is known of a replica is not kept, it has no versions.
_ONCE: Final = _COMPARED | {"sample", "seed", "json", "no_values", "all"}
_FOREIGN: Final = frozenset(
    {"table", "file_of_tables", "lag", "password_env", "max_differences", "json", "no_values"}
    | {"all", *_PACED}
)
_MADE: Final = frozenset({"certificate", "sign_key"})
_CHECKED: Final = frozenset({"check", "public_key", "json"})
# By the way of comparing; what is not named here is refused. CONFIG has an effect everywhere.
EFFECTIVE: Final[Mapping[str, frozenset[str]]] = {
    "--mirror": _ONCE | {"mirror", "since"},
    "--mirror and --forever": _COMPARED | {"mirror", "forever"},
    "--mirror and --certificate": _READ | _MADE | {"mirror", "json"},
    "--replica": _ONCE | {"replica"},
    "--replica and --forever": (_COMPARED | {"replica", "forever"}) - {"state"},
    "--topics": frozenset({"topics", "first", "until", "json"}),
    "--table": _FOREIGN,
    "--table and --forever": (_FOREIGN | {"forever"}) - {"json", "no_values", "all"},
    "--table and --certificate": _FOREIGN | _MADE,
    "--check": _CHECKED,
    "--check and CONFIG": _CHECKED | _PACED,
    "--check and a URL": _CHECKED | _PACED | {"password_env"},
}


def run(arguments: Namespace) -> int:
    """Compare mirrors, a replica or topics with the source; return the code of the outcome."""
    # Standard output has the report alone.
    configure_logging(LogSettings(), command="verify")
    refuse_without_effect(arguments)
    of_others = is_foreign(arguments)
    if not of_others and arguments.check is None:
        arguments.config = Path(arguments.config)
    if arguments.topics:
        from connector.cli.verify_topics import verify_topics  # noqa: PLC0415  # needs no extra

        return verify_topics(arguments)
    try:
        from connector.cli import verify_certificate, verify_foreign, verify_mirror  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    with process_folder():
        if arguments.check is not None:
            return verify_certificate.check_certificate(arguments)
        if arguments.certificate is not None:
            if arguments.mirror is None:
                return verify_certificate.make_foreign_certificate(arguments)
            return verify_certificate.make_certificate(arguments)
        if of_others and arguments.forever:
            return verify_foreign.verify_foreign_forever(arguments)
        if of_others:
            return verify_foreign.verify_foreign(arguments)
        if arguments.forever:
            return verify_mirror.verify_forever(arguments)
        return verify_mirror.verify_mirror(arguments)


def refuse_without_effect(arguments: Namespace) -> None:
    """Raise ConfigError if an argument has no effect, or if nothing says what to compare."""
    way = _way(arguments)
    others = {name: word for name, word in arguments.given.items() if name != "config"}
    ignored = [word for name, word in others.items() if name not in EFFECTIVE[way]]
    if ignored:
        raise ConfigError(command_errors.NO_EFFECT, way=way, ignored=ignored)
    if arguments.seed is not None and arguments.sample is None:
        raise ConfigError(command_errors.NEEDS_SAMPLE)
    parts = arguments.sample, arguments.since, arguments.state
    if sum(part is not None for part in parts) > 1:
        raise ConfigError(command_errors.ONE_PART)
    if arguments.config is None and arguments.check is None:
        raise ConfigError(command_errors.NO_CONFIG)


def is_foreign(arguments: Namespace) -> bool:
    """Return whether tables of other programs are compared."""
    return bool(arguments.table) or arguments.file_of_tables is not None


def _way(arguments: Namespace) -> str:
    """Return a key of `EFFECTIVE`; raises ConfigError for none, or several."""
    if arguments.check is not None:
        if arguments.config is None:
            return "--check"
        return f"--check and {'a URL' if '://' in arguments.config else 'CONFIG'}"
    if is_foreign(arguments):
        more = " and --forever" if arguments.forever else ""
        return f"--table{more}" if arguments.certificate is None else "--table and --certificate"
    kinds = {
        "--mirror": arguments.mirror is not None,
        "--replica": arguments.replica is not None,
        "--topics": arguments.topics,
    }
    named = [kind for kind, is_given in kinds.items() if is_given]
    if len(named) != 1:
        raise ConfigError(command_errors.WHAT)
    for more, is_given in (
        ("--certificate", arguments.certificate is not None),
        ("--forever", arguments.forever),
    ):
        way = f"{named[0]} and {more}"
        if is_given and way in EFFECTIVE:
            return way
    return named[0]
