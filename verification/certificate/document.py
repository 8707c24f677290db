"""The form of a certificate: JSON that people can read, and that has one canonical text.

Version 1 is of tables of a mirror, at one cut. Version 2 is of tables that other programs have
made, each at a moment of its own.

Canonical is the member `certificate` without spaces, its members in the order of their names, in
UTF-8. It has texts, whole numbers below 2^53, booleans and null alone, so this is RFC 8785. The
SHA-256 and the signature are of these bytes.

https://www.rfc-editor.org/rfc/rfc8785
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from connector.foundation.errors import ConfigError, SourceRefused
from verification.certificate import certificate_errors, range_sums
from verification.key_ranges import KeyNumber, KeyRanges

FORM: Final = "binlog-connector certificate"
VERSION: Final = 1
FOREIGN_VERSION: Final = 2


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RangeSums(_Part):
    """The checksums of the rows of one range of keys."""

    part: int  # as the SQL numbers it
    low: str | None  # the first column of the key is at least this; null: no bound
    high: str | None  # and at most this
    rows: int
    sums: list[str]  # two whole numbers


class DeltaVersion(_Part):
    """A version of a Delta table."""

    path: str
    version: int
    table_id: str
    view: str  # SQL of DuckDB that makes `certified` of it


class IcebergSnapshot(_Part):
    """A snapshot of an Iceberg table with the same rows."""

    location: str
    snapshot_id: int
    view: str  # SQL of DuckDB that makes `certified` of it


class CertifiedTable(_Part):
    """One table, which is equal on both sides."""

    table: str  # `database.table` at the source
    # All columns of the mirror, as records of `<prefix>.schema` have them.
    columns: list[dict[str, Any]]
    mode: str  # of the mirror
    delta: DeltaVersion
    iceberg: IcebergSnapshot | None
    # What the source's snapshot had that the cut has not.
    changes_taken_back: int
    rows: int
    source_sql: str
    table_sql: str
    ranges: list[RangeSums]


class TargetVersion(_Part):
    """A version of a table that another program has made."""

    kind: Literal["delta", "iceberg"]
    place: str  # without a password
    # Of Delta, the version; of Iceberg, the snapshot. A whole number, which may be large.
    version: str = Field(pattern=r"^[0-9]+$")
    table_id: str
    view: str | None  # SQL of DuckDB that makes `certified` of it; null: `forms` have none


class ForeignColumn(_Part):
    """How a column of the source is read from the target."""

    name: str  # in the target
    form: str  # of its values, as the report of `verify --table` names it


class Moment(_Part):
    """When the source had the rows of the target."""

    gtid_set: str | None
    position: str  # FILE:POSITION in the log of the server
    # When the last change was committed that the target has; null: before the log was read.
    committed_at: str | None


class NotCompared(_Part):
    """Columns that only one side has, or that programs add."""

    source: list[str]
    target: list[str]


class CertifiedForeignTable(_Part):
    """One table of another program, which is equal to its source."""

    table: str  # `database.table` at the source
    # Those that are compared, as records of `<prefix>.schema` have them.
    columns: list[dict[str, Any]]
    forms: list[ForeignColumn]  # of each of `columns`
    deletion_mark: str | None  # the column of the target that marks rows as absent
    not_compared: NotCompared
    target: TargetVersion
    moment: Moment
    # What the source's snapshot had that the target has not.
    changes_taken_back: int
    rows: int
    source_sql: str
    table_sql: str | None
    ranges: list[RangeSums]


class LeftOutTable(_Part):
    """A table that is not certified."""

    table: str
    reason: str


class LeftOutTarget(LeftOutTable):
    """A target that is not certified to have the rows of its table."""

    target: str


class SourceState(_Part):
    """The moment at which the certificate holds."""

    server_uuid: str
    flavour: Literal["mysql", "mariadb"]
    gtid_set: str | None
    position: str  # FILE:POSITION in the log of the server
    committed_at: str | None  # when the last change was committed that the tables have


class MirrorState(_Part):
    """The cut of the mirror that has the state of the source."""

    path: str
    cut: int
    seq: str


class Setup(_Part):
    """What a session runs before the statements of tables."""

    source: list[str]
    table: list[str]


class Certificate(_Part):
    """What is certified of a mirror."""

    form: Literal["binlog-connector certificate"]
    version: Literal[1]
    made_at: str
    made_by: str
    checksum: str  # how a checksum is computed, in words
    source: SourceState
    mirror: MirrorState
    setup: Setup
    tables: list[CertifiedTable]
    left_out: list[LeftOutTable]

    @property
    def canonical(self) -> bytes:
        """The bytes that are signed."""
        return canonical(self.model_dump(mode="json"))


class Server(_Part):
    """The source of tables that other programs have made."""

    server_uuid: str
    flavour: Literal["mysql", "mariadb"]


class ForeignCertificate(_Part):
    """What is certified of tables that other programs have made."""

    form: Literal["binlog-connector certificate"]
    version: Literal[2]
    made_at: str
    made_by: str
    checksum: str  # how a checksum is computed, in words
    source: Server
    setup: Setup
    tables: list[CertifiedForeignTable]
    left_out: list[LeftOutTarget]

    @property
    def canonical(self) -> bytes:
        """The bytes that are signed."""
        return canonical(self.model_dump(mode="json"))


class Signature(_Part):
    """Who has signed the canonical text."""

    algorithm: Literal["Ed25519"]
    public_key: str  # base64 of 32 bytes
    value: str  # base64 of 64 bytes


def summed_range(
    ranges: KeyRanges, key: KeyNumber | None, sums: range_sums.Sums, place: int
) -> RangeSums:
    """Return what a certificate says of the range at `place`."""
    low, high = range_sums.bounds_of(ranges, key, place)
    return RangeSums(
        part=place, low=low, high=high, rows=int(sums.rows[place]), sums=sums.totals(place)
    )


AnyCertificate = Certificate | ForeignCertificate


class SignedCertificate(_Part):
    """The content of a file."""

    certificate: AnyCertificate = Field(discriminator="version")
    sha256: str  # of the canonical text, in hexadecimal digits
    signature: Signature | None


def canonical(document: dict[str, Any]) -> bytes:
    """Return the canonical text of a JSON document without fractions."""
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(text: bytes) -> str:
    """Return the SHA-256 of a canonical text."""
    return hashlib.sha256(text).hexdigest()


def write_certificate(path: Path, signed: SignedCertificate) -> None:
    """Write the file; raises ConfigError if it cannot be written."""
    text = json.dumps(signed.model_dump(mode="json"), ensure_ascii=False, indent=1)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        facts = {"path": path, "said": error.strerror}
        raise ConfigError(certificate_errors.NOT_WRITTEN, **facts) from error


def read_certificate(path: Path) -> SignedCertificate:
    """Read a file, whose SHA-256 must be that of its content.

    Raises ConfigError for a file that is no certificate, or one of another version; SourceRefused
    for one that was changed.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error.strerror or "") from error
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    own = document.get("certificate") if isinstance(document, dict) else None
    if not isinstance(own, dict) or own.get("form") != FORM:
        raise _unreadable(path, f"its form is not {FORM!r}")
    if own.get("version") not in (VERSION, FOREIGN_VERSION):
        known = f"{VERSION} and {FOREIGN_VERSION}"
        facts = {"path": path, "found": own.get("version"), "known": known}
        raise ConfigError(certificate_errors.OTHER_FORM, **facts)
    if digest(canonical(own)) != document.get("sha256"):
        why = "its SHA-256 is another"
        raise SourceRefused(certificate_errors.CHANGED, path=path, why=why)
    try:
        return SignedCertificate.model_validate(document)
    except ValidationError as error:
        (first, *_) = error.errors(include_input=False, include_url=False)
        # The second part is the version, by which the form was chosen.
        where = ".".join(str(part) for part in (*first["loc"][:1], *first["loc"][2:]))
        raise _unreadable(path, f"{where}: {first['msg']}") from error


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(certificate_errors.UNREADABLE, path=path, why=why)
