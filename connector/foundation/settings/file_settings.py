"""Reads settings from a TOML file and the environment, with an error for each wrong key.

The connector and the Spark job have their own settings, which both use this loader.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from connector.foundation.errors import ConfigError
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message, nearest
from connector.foundation.settings import settings_errors

# Separates section and key in the name of a variable.
NESTED = "__"
# A variable with such a value stands for one that is not set.
_EMPTY: tuple[object, ...] = (None, "", [])
# In a path, slashes are one.
_URL = re.compile(r"[a-z][a-z0-9+-]+:/")


# Groups of keys of a section, of which one is given: one of the environment replaces those of the
# file. A section has them as `alternatives`.
Alternatives: TypeAlias = tuple[tuple[str, ...], ...]


class UnfitValueError(ValueError):
    """A check of ours refuses a value; the loader adds the key."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message)


class FileSettings(BaseModel):
    """Settings from a file and the environment; the environment has priority."""

    # A text of pydantic's own must not show a password.
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True
    )

    # How the names of variables begin.
    prefix: ClassVar[str]
    # The command that prints every key with its default.
    reference: ClassVar[str]
    # Whether other parts of the product have variables of one word with the same prefix.
    shares_prefix: ClassVar[bool] = False

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the TOML file at `path`, then the environment.

        Raises ConfigError, which names every wrong key.
        """
        return cls.of(cls.document(path), path)

    @classmethod
    def of(cls, document: dict[str, Any], path: Path) -> Self:
        """Return the settings of a document, and of the environment; `path` names it in errors.

        Raises ConfigError, which names every wrong key.
        """
        given = cls._environment()
        try:
            return cls.model_validate(_merged(cls._without_replaced(document, given), given))
        except ValidationError as error:
            problems = [cls._problem(found, path) for found in error.errors(include_input=False)]
            if len(problems) == 1:
                raise problems[0] from error
            raise ConfigError(
                settings_errors.SEVERAL, path=path, count=len(problems), problems=problems
            ) from error

    @classmethod
    def document(cls, path: Path) -> dict[str, Any]:
        """Return the content of the file; raises ConfigError if it is not a TOML file."""
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            if _URL.match(str(path)):
                # It is not shown: it may have a password.
                raise ConfigError(settings_errors.URL, reference=cls.reference) from error
            raise ConfigError(
                settings_errors.UNREADABLE, path=path, said=error.strerror, reference=cls.reference
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                settings_errors.NOT_TOML, path=path, said=error, reference=cls.reference
            ) from error

    @classmethod
    def peek(cls, path: Path, key: str) -> object:
        """Return the value of `key`, such as `log.format` or `name`; None if it is not given.

        The configuration may have mistakes: the errors about them need this value, too.
        """
        if (given := os.environ.get(cls.variable(key))) is not None:
            return given
        for read in (cls._environment, lambda: cls.document(path)):
            try:
                found: object = read()
            except ConfigError:
                continue
            for name in key.split("."):
                found = found.get(name) if isinstance(found, dict) else None
            if found is not None:
                return found
        return None

    @classmethod
    def variable(cls, key: str) -> str:
        """Return the name of the environment variable for `key`, such as `source.host`."""
        return cls.prefix + NESTED.join(key.upper().split("."))

    @classmethod
    def variables(cls) -> dict[str, list[str]]:
        """Return the variables of the environment that give keys, with the words of the key.

        A later one has priority: a key comes after its section, and capitals after other letters.
        """
        found = {}
        for variable in sorted(
            os.environ, key=lambda name: (name.count(NESTED), name == name.upper(), name)
        ):
            if not variable.upper().startswith(cls.prefix):
                continue
            keys = variable[len(cls.prefix) :].lower().split(NESTED)
            if not (cls.shares_prefix and len(keys) == 1 and keys[0] not in cls.model_fields):
                found[variable] = keys
        return found

    @classmethod
    def given_in_environment(cls, section: str) -> set[str]:
        """Return the keys of a section that the environment gives, but for those it gives empty.

        Raises ConfigError if a variable has no key, or is not JSON where it must be.
        """
        return _given(cls._environment().get(section))

    @classmethod
    def _without_replaced(
        cls, document: dict[str, Any], environment: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return a document without the keys in whose place the environment gives another one."""
        kept = dict(document)
        for section, field in cls.model_fields.items():
            values = kept.get(section)
            for group in getattr(field.annotation, "alternatives", ()):
                given = _given(environment.get(section)).intersection(group)
                if given and isinstance(values, dict):
                    left_out = set(group) - given
                    values = {key: each for key, each in values.items() if key not in left_out}
                    kept[section] = values
        return kept

    @classmethod
    def _environment(cls) -> dict[str, Any]:
        """Return what the environment gives, as a document.

        Raises ConfigError if a variable has no key, or is not JSON where it must be.
        """
        found: dict[str, Any] = {}
        for variable, (*above, key) in cls.variables().items():
            value = cls._value(variable, [*above, key])
            if value is None:
                # A variable that is null is as none.
                continue
            section: Any = found
            for name in above:
                if section.get(name) is None:
                    section[name] = {}
                section = section[name]
                if not isinstance(section, dict):
                    # The variable of the section is what is wrong.
                    break
            else:
                section[key] = _merged(section.get(key), value)
        return found

    @classmethod
    def _value(cls, variable: str, keys: list[str]) -> object:
        """Return the value of a variable: sections, lists and tables are JSON."""
        kind: Any = cls
        for key in keys:
            fields = getattr(kind, "model_fields", {})
            if key not in fields:
                raise cls._unknown_variable(variable, ".".join(keys))
            kind = fields[key].annotation
        text = os.environ[variable]
        is_section = isinstance(kind, type) and issubclass(kind, BaseModel)
        if not is_section and get_origin(kind) not in (list, dict):
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            raise ConfigError(settings_errors.NOT_JSON, variable=variable) from error

    @classmethod
    def _unknown_variable(cls, variable: str, key: str) -> ConfigError:
        facts = {"variable": variable, "key": key, "reference": cls.reference}
        meant = cls._meant(key)
        if meant is None:
            return ConfigError(settings_errors.UNKNOWN_VARIABLE, **facts)
        return ConfigError(settings_errors.SIMILAR_VARIABLE, meant=meant, **facts)

    @classmethod
    def _problem(cls, found: Any, path: Path) -> ConfigError:
        """Return an error of pydantic as an error of ours."""
        key = ".".join(str(part) for part in found["loc"])
        if found["type"] == "missing":
            # A variable has a list as a whole.
            whole = ".".join(takewhile(lambda part: isinstance(part, str), found["loc"]))
            return ConfigError(
                settings_errors.MISSING, path=path, key=key, variable=cls.variable(whole)
            )
        facts = {"path": path, "key": key, "reference": cls.reference}
        if found["type"] == "extra_forbidden":
            meant = cls._meant(key)
            if meant is None:
                return ConfigError(settings_errors.UNKNOWN_KEY, **facts)
            return ConfigError(settings_errors.SIMILAR_KEY, meant=meant, **facts)
        unfit = found.get("ctx", {}).get("error")
        if isinstance(unfit, UnfitValueError):
            if not key:
                del facts["key"]
                return ConfigError(settings_errors.UNFIT_TOGETHER, why=unfit.message, **facts)
            if given := cls._variables_of(key.split(".")):
                code = settings_errors.UNFIT_BY_VARIABLE
                return ConfigError(code, why=unfit.message, variables=given, **facts)
            return ConfigError(settings_errors.UNFIT_VALUE, why=unfit.message, **facts)
        return ConfigError(settings_errors.WRONG_VALUE, said=found["msg"], **facts)

    @classmethod
    def _variables_of(cls, key: list[str]) -> list[str]:
        """Return the variables of the environment that give a key, a part of it, or its section."""
        found = cls.variables().items()
        return [name for name, keys in found if all(map(str.__eq__, keys, key))]

    @classmethod
    def _meant(cls, key: str) -> str | None:
        """Return the key most like an unknown one: first one of that name elsewhere."""
        known = list(_keys(cls))
        name = key.rpartition(".")[2]
        elsewhere = [each for each in known if each.rpartition(".")[2] == name]
        return elsewhere[0] if elsewhere else nearest(key, known)


def configuration_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of `paths`, and each *.toml of those that are folders, once each."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        found.update(dict.fromkeys(inside))
    return list(found)


def _given(values: object) -> set[str]:
    """Return the keys of a section of the environment, but for those that are empty."""
    if not isinstance(values, dict):
        return set()
    return {key for key, value in values.items() if _stripped(value) not in _EMPTY}


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _merged(below: Any, above: Any) -> Any:
    """Return two documents as one; where both have a value, it is that of `above`."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: _merged(below.get(key), value) for key, value in above.items()}


def _keys(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{prefix}{name}.")
