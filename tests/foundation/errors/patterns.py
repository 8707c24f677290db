"""A text of the catalogue of which a test does not know every fact."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


def fits(said: str, code: ErrorCode, /, **known: object) -> bool:
    """Return whether `said` is the text of a code; `known` are those facts that are known.

    The code in brackets may stand before it, as in what a program prints.
    """
    template = f"{code.what}; {code.fix}" if code.fix else code.what
    parts = [rf"(?:\[{code}\] )?"]
    for literal, name, form, conversion in Formatter().parse(template):
        parts.append(re.escape(literal))
        if name is None:
            continue
        if "." in name:
            parts.append(re.escape(name))
        elif name in known:
            fact = repr(known[name]) if conversion == "r" else known[name]
            shown = fact if form == "lines" else format(fact, form or "")
            parts.append(re.escape(str(shown)))
        else:
            parts.append("(?s:.+)")
    return re.fullmatch("".join(parts), said) is not None
