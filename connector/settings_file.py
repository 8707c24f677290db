"""A TOML file, and the environment above it, become settings, or an error for each wrong key."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel, ValidationError

from connector.config import ENVIRONMENT_PREFIX, NESTED, Settings
from connector.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def load_settings(path: Path) -> Settings:
    """Read the TOML file at `path`, then the environment.

    Raises ConfigError with one line per wrong key.
    """
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (
            f"{path}: cannot read the configuration: {error.strerror}: give the path of a file "
            "such as configs/connector.toml"
        )
        raise ConfigError(reason) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = f"{path}: not valid TOML: {error}; configs/connector.toml shows how it is written"
        raise ConfigError(reason) from error
    _check_variables()
    try:
        return Settings(**document)
    except ValidationError as error:
        lines = [_explain(problem, path) for problem in error.errors(include_input=False)]
        raise ConfigError("\n".join(lines)) from error


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
                reason = (
                    f"environment variable {variable}: there is no key {'.'.join(keys)}; "
                    "configs/connector.toml lists the keys"
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
        return f"{path}: unknown key {key}; configs/connector.toml lists the keys"
    if problem["type"] == "missing":
        variable = ENVIRONMENT_PREFIX + NESTED.join(key.upper().split("."))
        return f"{path}: {key} is required (or set {variable})"
    return f"{path}: {key}: {problem['msg']}; configs/connector.toml explains the key"
