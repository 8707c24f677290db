"""The tags of cuts: their names, and which of them stay.

    cut_42, latest_cut           the pipeline of a mirror
    cut_eu_42, latest_cut_eu     the pipeline with the topics `eu`, in a mirror that others share

A pipeline knows which of its own cuts can be read, and nothing of those of others. Theirs stay
until Delta may have deleted the files of their snapshots.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

Refs = Mapping[str, Mapping[str, Any]]

_LATEST: Final = "latest_cut"
_NUMBERED: Final = re.compile(r"cut_(?:(?P<prefix>.+)_)?(?P<number>[0-9]+)")
_MAIN: Final = "main"


def is_cut_tag(name: str) -> bool:
    """Return whether a tag is one of a cut, of any pipeline."""
    is_latest = name == _LATEST or name.startswith(f"{_LATEST}_")
    return is_latest or _NUMBERED.fullmatch(name) is not None


class CutTags(NamedTuple):
    """The tags of one pipeline."""

    # Of its topics, if pipelines share the mirror.
    prefix: str | None = None

    def of(self, cut: int) -> str:
        """Return the tag of the cut with this number."""
        return f"cut_{cut}" if self.prefix is None else f"cut_{self.prefix}_{cut}"

    @property
    def latest(self) -> str:
        """The tag of the newest cut."""
        return _LATEST if self.prefix is None else f"{_LATEST}_{self.prefix}"

    def number(self, name: str) -> int | None:
        """Return the number of the cut whose tag this is; None if it is none of the pipeline."""
        found = _NUMBERED.fullmatch(name)
        return int(found["number"]) if found and found["prefix"] == self.prefix else None

    def added(self, refs: Refs, cut: int, snapshot: int) -> Refs:
        """Return `refs` in which a snapshot has the tags of a cut."""
        tag = {"snapshot-id": snapshot, "type": "tag"}
        # A process that is late does not take it back. Numbers may begin again, versions do not.
        before = refs.get(self.latest, tag)["snapshot-id"]
        latest = {self.latest: tag} if snapshot >= before else {}
        return {**refs, **latest, self.of(cut): tag}

    def kept(
        self,
        refs: Refs,
        cuts: Collection[int],
        newest: int,
        is_gone: Callable[[int], bool] = lambda _: False,
    ) -> Refs:
        """Return those of `refs` that stay: `cuts` are those of the pipeline that can be read.

        `newest` is the newest cut that the caller knows: a later process of the pipeline may have
        added others. `is_gone` says of a snapshot whether Delta may have deleted its files.
        """

        def stays(name: str, snapshot: int) -> bool:
            if name in (_MAIN, self.latest):
                return True
            own = self.number(name)
            if own is not None and (self.prefix is None or own <= newest):
                return own in cuts
            return self.prefix is not None and is_cut_tag(name) and not is_gone(snapshot)

        return {name: ref for name, ref in refs.items() if stays(name, ref["snapshot-id"])}


# Of the pipeline of a mirror that has no other one.
ALONE: Final = CutTags()
