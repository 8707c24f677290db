"""Columns that an index has in another order than WHERE compares them.

MariaDB fills CHAR with spaces in an index, and takes them away before an expression. A collation
that does not pad compares these spaces: so the index has `a` + tab before `a`, and WHERE after it;
the index tells `ss` from `ß`, which have other numbers of spaces, and WHERE takes them for equal.
A SELECT of the rows after a key then misses rows. All collations with NO PAD are like that, also
binary ones; VARCHAR and MySQL are not (`tests/integration/snapshots/test_key_orders.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from connector.source.server.select_session import SelectSession


def unordered_columns(
    session: SelectSession,
    columns: Sequence[Mapping[str, str | None]],
    indexed: Collection[str | None],
) -> frozenset[str | None]:
    """Return the `indexed` columns whose order in an index is another.

    `columns` are those of `information_schema.columns`. Raises the errors of the session.
    """
    if session.identity.flavour != "mariadb":
        return frozenset()
    found = [row for row in columns if row["type"] == "char" and row["name"] in indexed]
    unpadded = {
        collation
        for charset, collation in {(row["charset"], row["collation"]) for row in found}
        if not _pads(session, charset or "", collation or "")
    }
    return frozenset(row["name"] for row in found if row["collation"] in unpadded)


def _pads(session: SelectSession, charset: str, collation: str) -> bool:
    """Return whether a collation compares texts as if the shorter one ended with spaces."""
    texts = (
        f"CONVERT(_latin1 '{text}' USING {charset}) COLLATE {collation}" for text in ("a", "a ")
    )
    (answer,) = session.query(f"SELECT {' = '.join(texts)} AS pads")
    return answer["pads"] == "1"
