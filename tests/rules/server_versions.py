"""The version of a server under test, as the rules know it."""

from __future__ import annotations

from connector.foundation.server_version import Product, ServerVersion


def server_version(text: object) -> ServerVersion:
    """Return what `SELECT VERSION()` says."""
    product = Product.MARIADB if "MariaDB" in str(text) else Product.MYSQL
    major, minor, patch = str(text).partition("-")[0].split(".")
    return ServerVersion(product, (int(major), int(minor), int(patch)))
