"""Loads the configuration of `run`, and parts of one that has mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import settings_secrets as codes
from connector.errors.message import Message
from connector.settings.sections import Settings

if TYPE_CHECKING:
    from pathlib import Path

# What may be written into the file itself.
_SECRETS = (
    ("source", "password"),
    ("kafka", "sasl_password"),
    ("registry", "password"),
    ("metrics", "token"),
)
# A bit of a file's mode: all users may read it.
_READS_ALL = 0o004


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError, which names every wrong key.
    """
    return Settings.load(path)


def log_format(path: Path) -> str:
    """Return `log.format` of a configuration that may have other mistakes; "console" without one.

    The errors about these mistakes use this format, too.
    """
    return "json" if Settings.peek(path, "log.format") == "json" else "console"


def pipeline_name(path: Path) -> str | None:
    """Return `name` of a configuration that may have other mistakes; None without one."""
    found = Settings.peek(path, "name")
    return found if isinstance(found, str) else None


def readable_by_all(path: Path) -> Message | None:
    """Return a warning if the file holds a password and every user may read it, else None."""
    document = Settings.document(path)
    held = [f"{section}.{key}" for section, key in _SECRETS if document.get(section, {}).get(key)]
    if not held or not path.stat().st_mode & _READS_ALL:
        return None
    return Message(codes.READABLE_BY_ALL, {"path": path, "keys": held})
