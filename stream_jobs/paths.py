"""The folders of a mirror below `mirror.path`.

`table_path` turns the names of a database and a table into the path of their mirror. The job
keeps its own files in `_cdc`, and those of pipelines that join later in `_pipelines`: folder names
that no database can have.
"""

from hashlib import sha256
from typing import Final
from urllib.parse import quote, unquote

# A file system takes 255 bytes; a part of a name may become nine.
_LENGTH_MAX = 200
_HASH_DIGITS = 16

# The folder of the job's own files.
OWN_FOLDER: Final = "_cdc"
# The folders of the pipelines that have joined the mirror of another one.
PIPELINES: Final = "_pipelines"


# In front of the two hexadecimal digits of a byte. Readers such as delta-rs and DuckDB decode each
# `%` of a path, and find no file then. Mirrors that were made earlier keep it: see
# `mirror_path` of `stream_jobs/tables/mirror_table.py`.
_MARK: Final = "!"
EARLIER_MARK: Final = "%"


def table_path(database: str, table: str, mark: str = _MARK) -> str:
    """Return `<database>/<table>`, where no name leads out of its folder.

    The bytes of characters that are special in paths become `mark` and two digits, and so does the
    first one of a name that a file system or Spark would hide or follow: `..`, `.git`,
    `_delta_log`.
    """
    return f"{path_part(database, mark)}/{path_part(table, mark)}"


def pipeline_path(prefix: str) -> str:
    """Return the folder of a pipeline that has joined the mirror of another one."""
    return f"{PIPELINES}/{path_part(prefix)}"


def names_of_path(path: str) -> tuple[str, str] | None:
    """Return the database and the table of a `table_path`; None if it has a digest of a name."""
    for mark in (_MARK, EARLIER_MARK):
        database, table = (unquote(part.replace(mark, "%")) for part in path.split("/"))
        if table_path(database, table, mark) == path:
            return database, table
    return None


def path_part(name: str, mark: str = _MARK) -> str:
    """Return `name` as one part of a path."""
    # The name has none of them itself: it is one of the special characters.
    text = quote(name, safe="").replace("%", mark)
    if text[0] in "._":
        text = f"{mark}{ord(text[0]):02X}{text[1:]}"
    # A part with a digest has this length: so no other name has the same one.
    if len(text) < _LENGTH_MAX:
        return text
    digest = sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{text[: _LENGTH_MAX - _HASH_DIGITS - 1]}-{digest}"
