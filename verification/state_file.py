"""Files that keep what is known of tables from one run to the next, and the keys in them.

A file is replaced as a whole, so no crash can tear it. It has keys of rows that differ, and no
other values, and only its owner can read it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from connector.foundation.errors import ConfigError
from verification import verify_errors
from verification.key_texts import encode_keys
from verification.report import TableResult

NOT_OURS: Final = "it is not a file of this program"


class StateFile:
    """One file; each version of its content has a number."""

    def __init__(self, path: Path, version: int, of: Mapping[str, object]) -> None:
        """Keep what is compared `of` something, in words that people know."""
        self._path = path
        self._version = version
        self._of = dict(of)

    def read(self, *members: str, besides: str = "") -> dict[str, Any] | None:
        """Return these members of what `write` got last; None if there is no file.

        The word `besides` may be another one than in the file. Raises ConfigError if the file is of
        another comparison, or cannot be used.
        """
        try:
            state = dict(json.loads(self._path.read_bytes()))
            if state["format"] != self._version:
                raise ValueError(state["format"])  # noqa: TRY301 - as for what is no JSON
            content = {name: state[name] for name in members}
            others = [name for name, own in self._of.items() if state["of"].get(name) != own]
            others = [name for name in others if name != besides]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.unusable(error.strerror or type(error).__name__) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.unusable(NOT_OURS) from error
        if others:
            raise ConfigError(verify_errors.STATE_OTHER, path=self._path, names=others)
        return content

    def write(self, content: Mapping[str, object]) -> None:
        """Replace the file. Raises ConfigError if that fails."""
        document = {"format": self._version, "of": self._of, **content}
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with open(descriptor, "w") as file:  # noqa: PTH123 - a descriptor
                    json.dump(document, file)
                    file.flush()
                    os.fsync(descriptor)
                temporary.replace(self._path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise self.unusable(error.strerror or type(error).__name__) from error

    def remove(self) -> None:
        """Remove the file, if it is there."""
        self._path.unlink(missing_ok=True)

    def unusable(self, reason: str) -> ConfigError:
        """Return the error of a file that cannot be used."""
        return ConfigError(verify_errors.STATE_UNUSABLE, path=self._path, said=reason)


def different_keys(result: TableResult) -> str | None:
    """Return the keys of rows that differ, as text; None if they do not name all that is wrong."""
    if result.has_more or result.intervals or result.lost_columns:
        return None
    if result.iceberg is not None and result.iceberg.is_different:
        return None
    keys = [
        tuple((difference.own_key or difference.key).values()) for difference in result.differences
    ]
    if not all(keys):
        # A row without a key cannot be found again, so the table is compared again.
        return None
    return encode_keys(keys) if keys else ""
