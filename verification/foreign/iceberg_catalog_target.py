"""An Iceberg table of any writer, of which a REST catalog has the metadata.

    iceberg-rest:https://CLIENT:SECRET@HOST/PATH?table=NAMESPACE.TABLE&warehouse=NAME
    iceberg-rest:https://HOST/PATH?table=NAMESPACE.TABLE&sigv4_service=glue&sigv4_region=eu-west-1

The files of the table are read with the credentials of the environment, as those of a mirror are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from connector.foundation.errors import ConfigError
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.catalog_login import CatalogAccess, CatalogLogin, signer_of
from stream_jobs.iceberg.rest_catalog import CatalogName, RestCatalog
from verification.foreign import foreign_errors
from verification.foreign.iceberg_target import IcebergTarget, UriFiles

_FORM: Final = "iceberg-rest:https://HOST/PATH?table=NAMESPACE.TABLE&warehouse=NAME"
_SIGV4: Final = frozenset({"sigv4_service", "sigv4_region"})
_OPTIONS: Final = _SIGV4 | {"table", "warehouse", "scope", "token_file", "token_url"}


class CatalogTarget(IcebergTarget):
    """One table of a catalog."""

    def __init__(self, name: str, place: str) -> None:
        """Ask the catalog at `place` for each state of the table; `name` is for people.

        Raises ConfigError for a place of another form.
        """
        super().__init__(name, "")
        self._table, access = _access(name, place)
        self._catalog = RestCatalog(access)
        self._known: Mapping[str, Any] = {}

    def refresh(self) -> str:
        """Read the newest snapshot from now on."""
        found = self._catalog.load(self._table)
        if found is None:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        metadata: Mapping[str, Any] = dict(found)
        if metadata != self._known:
            self._files = UriFiles(self.name, _place(metadata))
            self._load(self.name, lambda: metadata)
            self._known = metadata
        return self._named_state()


def _place(metadata: Mapping[str, Any]) -> str:
    """Return where the files are that are read: the location of a table is for new ones."""
    current = metadata.get("current-snapshot-id")
    for snapshot in metadata.get("snapshots") or ():
        if snapshot.get("snapshot-id") == current and "manifest-list" in snapshot:
            return str(snapshot["manifest-list"])
    return str(metadata.get("location"))


def _access(name: str, place: str) -> tuple[CatalogName, CatalogAccess]:
    """Return the table and its catalog.

    Raises ConfigError for another form, or if a package is missing.
    """
    try:
        parts = urlsplit(place)
    except ValueError:
        parts = urlsplit("")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    *namespace, table = options.get("table", "").split(".")
    is_url = parts.scheme in ("http", "https") and parts.hostname
    is_known = options.keys() <= _OPTIONS and len(_SIGV4 & options.keys()) != 1
    if not (is_url and namespace and all(namespace) and table and is_known):
        raise ConfigError(foreign_errors.SERVER_FORM, target=name, form=_FORM)
    token_file = options.get("token_file")
    login = CatalogLogin(
        token_file=None if token_file is None else Path(token_file),
        client_id=unquote(parts.username or ""),
        client_secret=unquote(parts.password or ""),
        scope=options.get("scope", "catalog"),
        token_url=options.get("token_url", ""),
    )
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    warehouse = options.get("warehouse", "")
    signer = signer_of(options.get("sigv4_service", ""), options.get("sigv4_region", ""))
    return CatalogName(tuple(namespace), table), CatalogAccess(url, warehouse, login, signer)
