"""The kept inputs of each target: one zip file of small inputs that each reach something new."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CORPUS = Path(__file__).parent / "corpus"

# What each member says of its time, so that the same corpus is the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def kept_inputs(target: str) -> list[bytes]:
    """Return the inputs of a target, none before the first run."""
    path = CORPUS / f"{target}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def keep_inputs(target: str, inputs: Iterable[tuple[str, bytes]]) -> None:
    """Replace the inputs of a target by these, each with its name."""
    CORPUS.mkdir(exist_ok=True)
    partial = CORPUS / f"{target}.partial"
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(inputs):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    partial.replace(CORPUS / f"{target}.zip")
