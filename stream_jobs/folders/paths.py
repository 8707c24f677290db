"""Names of databases and tables become the path of a mirror below `mirror.path`.

The job's own files are in the folder `_cdc`, which no database can have: see `table_path`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from urllib.parse import quote

# A file system takes 255 bytes; a part of a name may become nine.
_LENGTH_MAX = 200
_HASH_DIGITS = 16

# The folder of the job's own files.
OWN_FOLDER: Final = "_cdc"


def table_path(database: str, table: str) -> str:
    """Return `<database>/<table>`, where no name leads out of its folder.

    Characters that are special in paths are percent-encoded, and so is the first one of a name that
    a file system or Spark would hide or follow: `..`, `.git`, `_delta_log`.
    """
    return f"{path_part(database)}/{path_part(table)}"


def path_part(name: str) -> str:
    """Return `name` as one part of a path."""
    text = quote(name, safe="")
    if text[0] in "._":
        text = f"%{ord(text[0]):02X}{text[1:]}"
    if len(text) <= _LENGTH_MAX:
        return text
    digest = sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{text[: _LENGTH_MAX - _HASH_DIGITS - 1]}-{digest}"
