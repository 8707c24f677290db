"""A TOML file, and the environment above it, become settings, or an error for each wrong key."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel, ValidationError

from connector.errors import ConfigError
from connector.settings.nearest import did_you_mean, nearest
from connector.settings.sections import ENVIRONMENT_PREFIX, NESTED, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of a file's mode: all users may read it.
_READS_ALL = 0o004


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError with one line per wrong key.
    """
    document = _document(path)
    _check_variables()
    try:
        return Settings(**document)
    except ValidationError as error:
        lines = [_explain(problem, path) for problem in error.errors(include_input=False)]
        raise ConfigError("\n".join(lines)) from error


def log_format(path: Path) -> str:
    """Return `log.format` of a configuration that may have other mistakes; "console" without one.

    What is said of these mistakes is written in that form, too.
    """
    wanted = os.environ.get(f"{ENVIRONMENT_PREFIX}LOG{NESTED}FORMAT")
    if wanted is None:
        try:
            section = _document(path).get("log")
        except ConfigError:
            section = None
        wanted = section.get("format") if isinstance(section, dict) else None
    return "json" if wanted == "json" else "console"


def readable_by_all(path: Path) -> str | None:
    """Return what to say of a file that holds a password, and that every user may read."""
    document = _document(path)
    held = [
        f"{section}.{key}"
        for section, key in (("source", "password"), ("kafka", "sasl_password"))
        if document.get(section, {}).get(key)
    ]
    if not held or not path.stat().st_mode & _READS_ALL:
        return None
    return (
        f"{path}: every user of this machine may read {' and '.join(held)} there: chmod o-r {path}"
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (
            f"{path}: cannot read the configuration: {error.strerror}: give the path of a file "
            "such as `binlog-connector config` prints"
        )
        raise ConfigError(reason) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = (
            f"{path}: not valid TOML: {error}; `binlog-connector config` shows how it is written"
        )
        raise ConfigError(reason) from error


def _check_variables() -> None:
    """Refuse names without a key, and lists and sections that are not JSON."""
    for variable, text in os.environ.items():
        keys = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split(NESTED)
        if not variable.startswith(ENVIRONMENT_PREFIX) or (
            len(keys) == 1 and keys[0] not in Settings.model_fields
        ):
            continue
        section: Any = Settings
        for key in keys:
            fields = getattr(section, "model_fields", {})
            if key not in fields:
                key_name = ".".join(keys)
                reason = (
                    f"environment variable {variable}: there is no key {key_name}"
                    f"{did_you_mean(_meant(key_name))}; `binlog-connector config` lists the keys"
                )
                raise ConfigError(reason)
            section = fields[key].annotation
        is_section = isinstance(section, type) and issubclass(section, BaseModel)
        if (is_section or get_origin(section) is list) and not _is_json(text):
            reason = (
                f"environment variable {variable}: not JSON: write a list like "
                '["first", "second"], and a section like {"key": "value"}'
            )
            raise ConfigError(reason)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _explain(problem: Any, path: Path) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        hint = did_you_mean(_meant(key))
        return f"{path}: unknown key {key}{hint}; `binlog-connector config` lists the keys"
    if problem["type"] == "missing":
        variable = ENVIRONMENT_PREFIX + NESTED.join(key.upper().split("."))
        return f"{path}: {key} is required (or set {variable})"
    # Of our own checks the text alone, without what pydantic puts before it.
    said = problem["ctx"]["error"] if problem["type"] == "value_error" else problem["msg"]
    return f"{path}: {key}: {said}; `binlog-connector config` explains the key"


def _meant(key: str) -> str | None:
    """Return the key that is nearest to one that does not exist: first of that name elsewhere."""
    known = list(_keys(Settings))
    name = key.rpartition(".")[2]
    elsewhere = [each for each in known if each.rpartition(".")[2] == name]
    return elsewhere[0] if elsewhere else nearest(key, known)


def _keys(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{prefix}{name}.")
