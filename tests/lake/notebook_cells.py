"""The code of the notebook in the documents."""

from __future__ import annotations

import json
from typing import Final

from tests.selection import PROJECT

NOTEBOOK: Final = PROJECT / "docs" / "tasks" / "notebook.ipynb"


def cells() -> dict[str, str]:
    """Return the code of the notebook by the names of its cells.

    A notebook is JSON, and its cells are Python without magic: Jupyter with its kernel and thirty
    packages would run the same statements.
    """
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    return {
        cell["id"]: "".join(cell["source"])
        for cell in document["cells"]
        if cell["cell_type"] == "code"
    }
