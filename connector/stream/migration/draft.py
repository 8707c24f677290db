"""The draft of a configuration, built from the properties of a connector, and its text.

Each property has one line of a comment: above the key that it became, or in a list at the end.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message, visible
from connector.foundation.errors.secrets_in_urls import without_secrets
from connector.foundation.settings.toml_text import toml_value
from connector.stream.migration import migration_errors
from connector.stream.migration.kafka_connect import REFERENCE, ConnectorFile

_T = TypeVar("_T")

# Properties whose values are secrets.
_SECRET: Final = ("password", "jaas", "secret", "token", "credential", "basic.auth")
# Connect takes no greater ones than those of 64 bits.
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
FLAGS: Final = {"true": True, "false": False}
_SECTIONS: Final = (
    "",
    "source",
    "source.tls",
    "kafka",
    "envelope",
    "envelope.outbox",
    "registry",
    "delivery",
    "snapshot",
    "signals",
    "notifications",
)


class Draft:
    """The properties that are left, the keys that were made, and what is to be said of both."""

    def __init__(self, connector: ConnectorFile) -> None:
        self.connector = connector
        self.left = dict(connector.properties)
        self.warnings: list[Message] = []
        self._keys: dict[str, object] = {}
        self._notes: dict[str, list[str]] = {}
        self._lists: dict[str, list[str]] = {}

    def pop(self, name: str, *older: str) -> str | None:
        """Take a property, or one of its older names; None if there is none or it is empty.

        Raises ConfigError for a reference that only Connect can look up.
        """
        for alias in (name, *older):
            value = self.left.pop(alias, None)
            if value:
                self.refuse_reference(alias, value)
                return value
        return None

    def refuse_reference(self, name: str, value: str) -> None:
        """Raise ConfigError if only Connect can look up a part of the value of a property."""
        if REFERENCE.search(value):
            raise ConfigError(
                migration_errors.REFERENCE, path=self.connector.path, name=name, value=value
            )

    def require(self, name: str, value: str | None, advice: str) -> str:
        """Return the value; raise ConfigError if there is none."""
        if value is None:
            raise ConfigError(
                migration_errors.NO_PROPERTY, path=self.connector.path, name=name, advice=advice
            )
        return value

    def set(self, key: str, value: object, *notes: str) -> None:
        """Set a key such as `source.host`, with lines of a comment above it."""
        self._keys[key] = value
        self.note(key, *notes)

    def take(self, name: str, key: str, value: object, text: str | None = None) -> None:
        """Set a key that a property became; `text` is the value of the property."""
        self.set(key, value, f"{name} = {value if text is None else text}")

    def note(self, key: str, *notes: str) -> None:
        """Write lines of a comment where the key is, or would be."""
        # What a file of others says stays in its comment: a line of its own would be a key.
        self._notes.setdefault(key, []).extend(map(visible, notes))

    def value(self, key: str) -> object:
        """Return the value of a key; None if it is not set."""
        return self._keys.get(key)

    def mapped(self, name: str, key: str, values: dict[str, str]) -> None:
        """Set a key to what the value of a property is called here.

        Raises ConfigError for a value without a counterpart.
        """
        text = self.pop(name)
        if text is not None:
            self.take(name, key, self.one_of(name, text, values), text)

    def number(self, name: str, key: str, divisor: int = 1) -> None:
        """Set a key to the number that a property has, divided; raise ConfigError without one."""
        text = self.pop(name)
        if text is None:
            return
        if not _NUMBER.fullmatch(text):
            raise self._refused(name, text, ["a number"])
        number = int(text)
        self.take(name, key, number if divisor == 1 else number / divisor, text)

    def flag(self, name: str, key: str) -> None:
        """Set a key to whether a property is true."""
        text = self.pop(name)
        if text is not None:
            self.take(name, key, self.one_of(name, text, FLAGS), text)

    def one_of(self, name: str, text: str, values: Mapping[str, _T]) -> _T:
        """Return what a value is called here; raise ConfigError if it has no counterpart."""
        if text.lower() not in values:
            raise self._refused(name, text, list(values))
        return values[text.lower()]

    def _refused(self, name: str, text: str, known: list[str]) -> ConfigError:
        path = self.connector.path
        return ConfigError(migration_errors.VALUE, path=path, name=name, value=text, known=known)

    def not_needed(self, name: str, why: str) -> None:
        """Say that a property has no effect here."""
        self._list("Not needed", name, why)

    def no_counterpart(self, name: str, meaning: str) -> None:
        """Say, and warn, that something will be otherwise."""
        self._list("Without a counterpart", name, meaning)
        self.warnings.append(
            Message(migration_errors.NO_COUNTERPART, {"name": name, "meaning": meaning})
        )

    def unknown(self, name: str) -> None:
        """Say, and warn, that a property is unknown."""
        self._list("Unknown here", name, "it was left out")
        self.warnings.append(Message(migration_errors.UNKNOWN_PROPERTY, {"name": name}))

    def _list(self, title: str, name: str, text: str) -> None:
        value = self.connector.properties.get(name)
        shown = "" if value is None else f" = {_value_text(name, value)}"
        line = without_secrets(f"{name}{shown}: {text}")
        self._lists.setdefault(title, []).append(visible(line))
        self.left.pop(name, None)

    def text(self) -> str:
        name = visible(self.connector.name)
        lines = [
            f"# From connector {name}, by `binlog-connector import-debezium`.",
            "# Above each key: the property that it comes from. At the end: all other properties.",
        ]
        for section in _SECTIONS:
            keys = [key for key in {**self._notes, **self._keys} if _section(key) == section]
            if section and keys:
                lines += ["", f"[{section}]"]
            for key in keys:
                lines += [f"# {note}" for note in self._notes.get(key, ())]
                if key in self._keys:
                    lines.append(f"{key.rpartition('.')[2]} = {toml_value(self._keys[key])}")
        for title, note in self._lists.items():
            lines += ["", f"# {title}:", *(f"#   {line}" for line in note)]
        return "\n".join(lines) + "\n"


def _section(key: str) -> str:
    return key.rpartition(".")[0]


def _value_text(name: str, value: str) -> str:
    if any(word in name.lower() for word in _SECRET) and not REFERENCE.fullmatch(value):
        return "(not shown)"
    return " ".join(value.split())
