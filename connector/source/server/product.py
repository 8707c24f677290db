"""A server's identity in the words of the logging rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.logging_rules.server_version import Product, ServerVersion

if TYPE_CHECKING:
    from connector.progress.server_identity import ServerIdentity


def version_of(identity: ServerIdentity) -> ServerVersion:
    """Return the product and version that decide which rules are in force."""
    product = Product.MARIADB if identity.flavour == "mariadb" else Product.MYSQL
    return ServerVersion(product, identity.version_number)
