"""A lake: a folder of tables that follow a source, with the two programs that keep them so.

::

    with mirror("mysql://cdc:secret@db/shop", "./lake") as lake:
        lake.wait()
        lake.table("shop.orders").to_pandas()

`docs/tasks/up.md` is the guide.
"""

from connector.lake.notebook import Lake, mirror

__all__ = ["Lake", "mirror"]
